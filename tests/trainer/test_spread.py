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
from tests.trainer.spread import CASES, RESUMED, SAMPLED, SERVED, alone, config_in, run  # noqa: E402

LIMIT_S = 300
CLOSE = 1e-9


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """What two processes found, for every case."""
    folder = tmp_path_factory.mktemp("spread")
    write_start(folder)
    torchrun = ["torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = launched(root, *torchrun, "-m", "tests.trainer.spread", str(folder))
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


@pytest.mark.parametrize("name", SAMPLED)
def test_each_process_samples_from_the_policy_that_it_trains(folder: Path, name: str) -> None:
    rows = of_two(folder, name)["rows"]
    assert [row["policy/stepped"] for row in rows] == [1.0] * 5
    assert rows[0]["outcome/right"] + rows[0]["outcome/wrong"] == 16
    assert rows[0]["engine/logprob_gap"] < (0.05 if "half" in name else 1e-5)


@pytest.mark.parametrize("name", SERVED)
def test_servers_draw_for_every_process_and_get_their_weights_from_one(folder: Path, name: str) -> None:
    found = of_two(folder, name)
    rows = found["rows"]
    assert rows[0]["policy/stepped"] == 1.0
    assert [row["outcome/right"] + row["outcome/wrong"] for row in rows] == [16] * len(rows)
    assert max(row["engine/probe_gap_max"] for row in rows) < 1e-4
    ahead = "ahead" in name
    assert [row["sampling/staleness"] for row in rows] == [0, *[int(ahead)] * (len(rows) - 1)]
    # One transfer at the start and one for each round that follows; two processes examine the server.
    transfers, draws = (found["asked"].count(path) for path in ("/collective_rpc", "/inference/v1/generate"))
    usual = 2 if ahead else 1 + len(rows)
    usual_draws = 4 * len(rows) + 2 * 8 * usual
    assert found["asked"].count("/v1/models") == 2
    if any(
        row["engine/servers_lost"] for row in rows
    ):  # on a busy machine it may be late, and is brought up to date
        assert transfers >= usual
        assert draws >= usual_draws
    else:
        assert (transfers, draws) == (usual, usual_draws)


def test_each_process_stores_its_shards_alone(folder: Path) -> None:
    whole = of_two(folder, "ddp")["stored"]
    # Shards are rounded up to whole rows, which shows in a model this small.
    assert of_two(folder, "fsdp")["stored"] == pytest.approx(whole / 2, rel=0.02)
    assert of_two(folder, "ddp-lora")["stored"] < 0.6 * whole


def test_a_launcher_that_starts_one_process_in_silence_is_found_out(folder: Path, root: Path) -> None:
    words = [f"model.path={folder / 'start'}", f"data.train={folder / 'train.jsonl'}"]
    words += ["distributed.engine=fsdp", "distributed.world_size=2", "reward.url=http://127.0.0.1:9"]
    done = launched(root, "accelerate.commands.launch", "--cpu", "--num_processes", "2", "-m", "grpo_trainer",
                    "train", "--preset", "tiny-cpu", *words)  # fmt: skip
    assert done.returncode != 0
    assert "asks for distributed.world_size=2, and 1 was started: torchrun" in done.stderr


def launched(root: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """A launcher's command, with one thread a process, within its time."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{root}{os.pathsep}{root / 'trainer'}"}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
