"""The examples of trainers are run, each in a process of its own, against a real service."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.verifier_service.server.processes import Served, environment, served
from verifier_service.commands.path import names

FOLDER = Path(__file__).parents[2] / "examples" / "trainers"
# trl_grpo.py trains, in tests/integration/test_trl.py; rows.py is shared by the others.
DRY_RUNS = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in ("rows.py", "trl_grpo.py"))
NEEDS = {"skyrl_env.py": "skyrl_gym", "nemo_rl_environment.py": "torch", "torchtune_reward.py": "torch"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("trainers") / "log") as found:
        yield found


def test_every_adapter_has_an_example() -> None:
    imported = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py"))
    without = [
        name for name in names() if f"adapters.for_{name}" not in imported and f"path {name}" not in imported
    ]
    assert without == []
    assert len(DRY_RUNS) >= len(names())


@pytest.mark.parametrize("name", DRY_RUNS)
def test_an_example_gets_the_rewards_that_it_expects(service: Served, name: str) -> None:
    needed = NEEDS.get(name)
    if needed is not None and importlib.util.find_spec(needed) is None:
        pytest.skip(f"needs {needed}")
    env = {**environment(), "VERIFIER_URL": service.url}
    ended = subprocess.run(
        [sys.executable, str(FOLDER / name)], env=env, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    assert "rewards [1.0, 0.0]" in ended.stdout
