"""Two processes under torchrun against one: the same losses, the same gradient, the same checkpoint."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft", reason="peft is not installed")

from grpo_trainer.checkpoint import SHARDS  # noqa: E402
from tests.trainer.runs import write_start  # noqa: E402
from tests.trainer.spread import CASES, RESUMED, alone, config_in, run  # noqa: E402

LIMIT_S = 300
CLOSE = 1e-9


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """What two processes found, for every case."""
    folder = tmp_path_factory.mktemp("spread")
    write_start(folder)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{root}{os.pathsep}{root / 'trainer'}"}
    done = subprocess.run(
        [*launch, "-m", "tests.trainer.spread", str(folder)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return folder


def of_two(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = torch.load(folder / f"{name}.pt", weights_only=True)
    return found


def apart(ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    """The largest distance between two of these tensors, over the norm of the one."""
    assert ours.keys() == theirs.keys()
    return max(float((ours[name] - t).norm() / t.norm().clamp(min=1e-12)) for name, t in theirs.items())


@pytest.mark.parametrize("name", CASES)
def test_two_processes_train_as_one(folder: Path, name: str) -> None:
    two = of_two(folder, name)
    one = run(config_in(folder, f"{name}-alone", *alone(CASES[name])))
    assert len(two["losses"]) == 5
    assert two["losses"] == pytest.approx(one["losses"], rel=CLOSE, abs=1e-15)
    assert max(map(abs, one["losses"])) > 1e-4
    assert apart(two["gradient"], one["gradient"]) < CLOSE
    assert all(float(t.norm()) > 0 for n, t in one["gradient"].items() if ".lora_A." not in n)
    assert apart(two["weights"], one["weights"]) < CLOSE


@pytest.mark.parametrize("name", CASES)
def test_the_log_of_two_processes_is_that_of_one(folder: Path, name: str) -> None:
    one = run(config_in(folder, f"{name}-logged", *alone(CASES[name])))
    for ours, theirs in zip(of_two(folder, name)["rows"], one["rows"], strict=True):
        assert ours.keys() == theirs.keys()
        shared = [key for key in theirs if not key.startswith(("time/", "memory/", "verifier/"))]
        assert {k: ours[k] for k in shared} == pytest.approx({k: theirs[k] for k in shared}, rel=1e-6)


@pytest.mark.parametrize("name", RESUMED)
def test_a_resumed_run_of_two_ends_where_the_uninterrupted_one_ends(folder: Path, name: str) -> None:
    resumed, whole = of_two(folder, f"{name}-resumed"), of_two(folder, name)
    assert resumed["losses"] == whole["losses"]
    assert all(torch.equal(resumed["weights"][n], whole["weights"][n]) for n in whole["weights"])


@pytest.mark.parametrize("name", RESUMED)
def test_one_process_goes_on_from_the_shards_of_two(folder: Path, name: str) -> None:
    import shutil

    place = f"{name}-handed-over"
    shutil.copytree(folder / f"{name}-resumed", folder / place)
    shutil.rmtree(folder / place / "checkpoints" / "step-000005")
    words = [*alone(CASES[name]), "checkpoint.every=2"]
    one = run(config_in(folder, place, *words), resume=True)
    whole = of_two(folder, name)
    assert one["losses"] == pytest.approx(whole["losses"], rel=CLOSE, abs=1e-15)
    assert apart(one["weights"], whole["weights"]) < CLOSE


@pytest.mark.parametrize("name", ["fsdp", "fsdp-lora"])
def test_the_checkpoint_is_one_that_transformers_loads(folder: Path, name: str) -> None:
    from transformers import AutoModelForCausalLM

    two = of_two(folder, name)
    assert len(list((Path(two["checkpoint"]) / SHARDS).glob("*.distcp"))) == 2
    model: Any = AutoModelForCausalLM.from_pretrained(two["checkpoint"], dtype=torch.float64)
    weights = model.state_dict()
    assert apart(weights, two["weights"]) == 0
