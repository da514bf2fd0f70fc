import pickle
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from verifier_service import schema
from verifier_service.rewards import RewardFailed, Score, plugins
from verifier_service.rewards.profile import Profile, ProfileError, combine, load_profiles, profile_from_spec
from verifier_service.transcript import Transcript

EXAMPLE = Path(__file__).parents[3] / "examples" / "own_reward"

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package as an installer does: code on the path and its metadata beside it."""

    def put(package: str, rewards: dict[str, str], code: str = "", *, version: str = "1.0") -> None:
        folder = tmp_path / f"{package}-{version}"
        info = folder / f"{package}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        lines = [f"{name} = {target}" for name, target in rewards.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{plugins.GROUP}]", *lines]))
        if code:
            (folder / f"{package}.py").write_text(code)
        monkeypatch.syspath_prepend(folder)
        plugins.forget()

    yield put
    monkeypatch.undo()
    plugins.forget()


def transcript(response: str | None = "So it is 5.") -> Transcript:
    return Transcript(response or "", None, response, None, (0, len(response)) if response else None)


def profile(**rewards: dict[str, float]) -> Profile:
    return profile_from_spec("mine", schema.ProfileSpec.model_validate({"rewards": rewards}))


def value(name: str, verdict: str | None = "correct", info: dict[str, int] | None = None) -> float | None:
    return plugins.score(name, SimpleNamespace(info=info), transcript(), verdict).value


def test_the_example_of_the_docs_runs(install: Install) -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    code = (EXAMPLE / "own_reward.py").read_text()
    install("own_reward", project["entry-points"][plugins.GROUP], code)
    chosen = load_profiles(EXAMPLE / "profiles")["brief-answers"]

    assert value("brief") == 1.0
    assert value("brief", "incorrect") is None
    assert value("brief", info={"enough_characters": 8}) == pytest.approx(1 - 3 / 8)
    scores = {
        "accuracy": Score(1.0),
        "brief": plugins.score("brief", SimpleNamespace(info=None), transcript(), "correct"),
    }
    assert combine(scores, chosen).components == {"accuracy": 1.0, "brief": 0.2}


def test_finding_a_reward_does_not_run_its_code(install: Install) -> None:
    install(
        "never_run", {"bomb": "never_run:f"}, "raise SystemExit('the server process must not import this')"
    )
    assert profile(bomb={"weight": 1.0}).rewards[0].name == "bomb"
    with pytest.raises(RewardFailed, match="could not be imported: SystemExit"):
        value("bomb")


@pytest.mark.parametrize(
    "body, message",
    [
        ("return 1 / 0", "raised ZeroDivisionError"),
        ("raise SystemExit(3)", "raised SystemExit"),
        ("return f(item, transcript, verdict)", "raised RecursionError"),
        ("return float('nan')", "returned nan"),
        ("return float('-inf')", "returned -inf"),
        ("return 10 ** 400", "too large"),
        ("return '1.0'", "returned str, not a number"),
        ("return [1.0]", "returned list, not a number"),
        ("return 1j", "returned complex, not a number"),
    ],
)
def test_a_reward_that_breaks_is_a_failure_with_its_name_and_never_a_zero(
    install: Install, body: str, message: str, request: pytest.FixtureRequest
) -> None:
    package = f"broken_{abs(hash(body))}"
    install(package, {"mine": f"{package}:f"}, f"def f(item, transcript, verdict):\n    {body}\n")
    with pytest.raises(RewardFailed, match=message) as caught:
        value("mine")
    assert 'reward "mine"' in str(caught.value)


def test_memory_that_runs_out_is_left_to_the_worker(install: Install) -> None:
    install("hungry", {"mine": "hungry:f"}, "def f(item, transcript, verdict):\n    raise MemoryError\n")
    with pytest.raises(MemoryError):
        value("mine")


@pytest.mark.parametrize("result, expected", [("None", None), ("True", 1.0), ("2", 2.0), ("-0.25", -0.25)])
def test_any_real_number_or_none_is_a_score(install: Install, result: str, expected: float | None) -> None:
    package = f"plain_{abs(hash(result))}"
    install(package, {"mine": f"{package}:f"}, f"def f(item, transcript, verdict):\n    return {result}\n")
    assert value("mine") == expected


def test_a_failure_survives_the_way_from_the_worker() -> None:
    failure = pickle.loads(pickle.dumps(RewardFailed("mine", "raised ValueError: no")))
    assert str(failure) == 'reward "mine" raised ValueError: no'


def test_two_packages_with_one_name_are_refused(install: Install) -> None:
    install("first_one", {"mine": "first_one:f"})
    install("second_one", {"mine": "second_one:f"})
    with pytest.raises(ProfileError, match=r"first_one 1\.0\) and .*second_one 1\.0\)\. Uninstall one"):
        profile(mine={"weight": 1.0})


def test_the_name_of_a_reward_of_the_service_is_taken(install: Install) -> None:
    install("rival", {"format": "rival:f"})
    with pytest.raises(ProfileError, match="rename the entry point"):
        profile(format={"weight": 1.0})


def test_a_new_version_of_the_package_is_another_profile(install: Install) -> None:
    install("changing", {"mine": "changing:f"})
    old = profile(mine={"weight": 1.0}).hash
    install("changing", {"mine": "changing:f"}, version="1.1")
    assert profile(mine={"weight": 1.0}).hash != old


def test_an_unknown_reward_names_the_installed_ones(install: Install) -> None:
    install("concise", {"concise": "concise:f"})
    with pytest.raises(ProfileError, match='Nearest: "concise"'):
        profile(concice={"weight": 1.0})
