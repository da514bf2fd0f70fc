"""Two answers to one question, a right one and a wrong one, for the dry runs of these examples."""

QUESTION = "A train covers 84 km in 1.5 h. Speed in km/h?"
GOLD = "56"
RIGHT = "<think>84 / 1.5 = 56</think>The speed is \\boxed{56}."
WRONG = "<think>84 / 2 = 42</think>The speed is \\boxed{42}."
ANSWERS = (RIGHT, WRONG)
EXPECTED = [1.0, 0.0]


def show(trainer: str, rewards: list[float | None]) -> None:
    """Prints the rewards; ends with an error where they are not those of the answers."""
    print(f"{trainer}: rewards {rewards}")
    if rewards != EXPECTED:
        raise SystemExit(f"expected {EXPECTED}: is VERIFIER_URL that of a service with the profile accuracy?")
