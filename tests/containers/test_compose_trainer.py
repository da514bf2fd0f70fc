"""The profile `trainer`: its image, built for CPUs, trains against the judge beside it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.composed import Compose, running
from tests.services import free_port

pytestmark = pytest.mark.containers

# The start of a run: random weights and a few sums, made in the container by what it holds.
START = """
from pathlib import Path
from grpo_trainer.config import ShapeConfig
from grpo_trainer.tiny import make_model, make_tokenizer, sums, write_questions
tokenizer = make_tokenizer()
shape = ShapeConfig(layers=2, hidden=32, intermediate=64, heads=4, kv_heads=2, vocab=24, tied=True, qkv_bias=True)
make_model(shape, 0, tokenizer).save_pretrained("/runs/start")
tokenizer.save_pretrained("/runs/start")
write_questions(Path("/runs/train.jsonl"), sums(0).seen[:40])
"""
RUN = ["--preset", "tiny-cpu", "model.path=/runs/start", "data.train=/runs/train.jsonl", "steps=2"]
SMALL = ["batch.answers_per_step=16", "batch.group_size=4", "sampling.max_tokens=10"]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build of torch that this machine's package index has; the image takes it instead of the one for CUDA."""
    folder = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    done = subprocess.run([*pip, "torch==2.13.0"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def compose(engine: None, root: Path, wheels: Path) -> Iterator[Compose]:
    files = (root / "compose.yaml", root / "tests" / "containers" / "trainer.cpu.yaml")
    own = {
        "TORCH_WHEELS": str(wheels),
        "TRAINER_BASE_IMAGE": "python:3.11-slim-bookworm",
        "TRAINER_IMAGE": "verifier-trainer-test:trainer",
    }
    os.environ.update(own)
    project = Compose(root, "verifier-trainer-test", files, free_port())
    try:
        with running(project) as started:
            started("--profile", "trainer", "build", "trainer")
            started("--profile", "trainer", "run", "--rm", "trainer", "python", "-c", START)
            yield started
    finally:
        for name in own:
            del os.environ[name]


def in_trainer(compose: Compose, *command: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    return compose("--profile", "trainer", "run", "--rm", "-T", "trainer", *command, check=check)


def test_it_trains_against_the_judge_beside_it(compose: Compose) -> None:
    done = in_trainer(compose, "grpo", "train", *RUN, *SMALL, "output=/runs/one")
    assert "2 steps. Checkpoint: /runs/one/checkpoints/step-000002" in done.stdout


def test_two_processes_train_in_it_on_shards(compose: Compose) -> None:
    words = ["distributed.engine=fsdp", "distributed.world_size=2", "output=/runs/two"]
    torchrun = ["torchrun", "--standalone", "--nproc_per_node", "2", "-m", "grpo_trainer", "train"]
    done = in_trainer(compose, "env", "OMP_NUM_THREADS=1", *torchrun, *RUN, *SMALL, *words)
    assert "2 steps. Checkpoint: /runs/two/checkpoints/step-000002" in done.stdout


def test_the_trainer_is_no_part_of_the_default_project(compose: Compose) -> None:
    services = compose("config", "--services").stdout.split()
    assert "trainer" not in services
    assert "verifier" in services


def test_it_asks_for_gpus(root: Path) -> None:
    shown = subprocess.run(
        ["docker", "compose", "--profile", "trainer", "config", "--format", "json"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    trainer = json.loads(shown.stdout)["services"]["trainer"]
    (device,) = trainer["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], device["capabilities"]) == ("nvidia", ["gpu"])


def test_it_runs_without_root_and_writes_nowhere_but_into_its_volumes(compose: Compose) -> None:
    assert in_trainer(compose, "id", "-u").stdout.strip() == "10001"
    refused = in_trainer(compose, "sh", "-c", "touch /opt/venv/x || touch /x", check=False)
    assert refused.returncode != 0
    assert "Read-only file system" in refused.stderr


def test_the_image_holds_no_installer_and_no_judge(compose: Compose) -> None:
    program = "import importlib.util as u; print([m for m in ('pip', 'fastapi', 'flint', 'vllm') if u.find_spec(m)])"
    assert in_trainer(compose, "python", "-c", program).stdout.strip() == "[]"
