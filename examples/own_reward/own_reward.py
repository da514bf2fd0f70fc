"""A reward of one's own: the answer after the thinking should be brief.

    pip install ./examples/own_reward
    verifier serve --profiles examples/own_reward/profiles

and score with the profile `brief-answers`.
"""

from typing import Any

# Characters of the response up to which it is brief, unless an item says otherwise.
ENOUGH = 400


def brief(item: Any, transcript: Any, verdict: str | None) -> float | None:
    """1 for a correct answer in few words, falling to 0 at twice as many.

    item: what was sent, `item.info` with the keys that the service does not know.
    transcript: `thinking` and `response`, each None where there is none.
    verdict: "correct", "incorrect", "no_answer", or None where there is none.
    Return None for "cannot say": the profile's null_value then stands in.
    """
    if verdict != "correct" or transcript.response is None:
        return None
    enough = (item.info or {}).get("enough_characters", ENOUGH)
    over = len(transcript.response.strip()) - enough
    return float(min(1.0, max(0.0, 1.0 - over / enough)))
