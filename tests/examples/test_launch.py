"""examples/launch: the scripts are read by bash, run with stand-ins of their programs, and once for real."""

import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpo_trainer", reason="the trainer is not installed: pip install ./trainer")
yaml = pytest.importorskip("yaml")

from grpo_trainer.loading import load_config  # noqa: E402

LIMIT_S = 180


@pytest.fixture(scope="module")
def launch(root: Path) -> Path:
    return root / "examples" / "launch"


def stand_in(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/usr/bin/env bash\n{body}\n")
    (folder / name).chmod(0o755)


def ran(folder: Path, script: str | Path, *words: str, **variables: str) -> list[str]:
    """The words that the launcher was started with, in the end."""
    stand_in(folder, "torchrun", 'printf "%s\\n" "$@"')
    environment = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", **variables}
    command = ["bash", *([str(script)] if isinstance(script, Path) else ["-c", script]), *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def config_words(command: list[str]) -> list[str]:
    """What `grpo train` is told beside its options."""
    return [word for word in command[command.index("train") + 1 :] if "=" in word]


def test_one_machine_starts_a_process_for_each_accelerator(tmp_path: Path, launch: Path) -> None:
    stand_in(tmp_path, "nvidia-smi", 'printf "GPU 0\\nGPU 1\\nGPU 2\\nGPU 3\\n"')
    command = ran(tmp_path, launch / "torchrun.sh", "--preset", "dr-grpo", "steps=16")
    assert command[:3] == ["--nnodes=1", "--nproc_per_node=4", "--standalone"]
    config = load_config("dr-grpo", overrides=config_words(command))
    assert (config.distributed.engine, config.distributed.world_size, config.steps) == ("fsdp", 4, 16)


def test_without_an_accelerator_it_says_what_to_do(tmp_path: Path, launch: Path) -> None:
    done = subprocess.run(
        ["bash", str(launch / "torchrun.sh")],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "PER_NODE=2" in done.stderr


def test_slurm_starts_one_launcher_on_each_machine(tmp_path: Path, launch: Path) -> None:
    stand_in(tmp_path, "scontrol", 'printf "node7\\nnode8\\n"')
    stand_in(tmp_path, "srun", 'shift; exec "$@"')
    job = {"SLURM_JOB_NODELIST": "node[7-8]", "SLURM_JOB_NUM_NODES": "2", "SLURM_GPUS_ON_NODE": "4"}
    command = ran(
        tmp_path, launch / "slurm.sbatch", "--preset", "dr-grpo",
        SLURM_JOB_ID="12", VERIFIER_URL="http://judge", RESUME="--resume", **job,
    )  # fmt: skip
    assert {"--nnodes=2", "--nproc_per_node=4", "--rdzv_endpoint=node7:29500", "--resume"} <= set(command)
    assert load_config("dr-grpo", overrides=config_words(command)).distributed.world_size == 8


SBATCH = {"job-name", "nodes", "ntasks-per-node", "gpus-per-node", "cpus-per-task", "time", "output"}
"""Options that sbatch has; it refuses a script with any other, and some of srun's are not among them."""


def test_slurm_is_asked_for_nothing_that_it_does_not_have(launch: Path) -> None:
    lines = (launch / "slurm.sbatch").read_text().splitlines()
    options = [line.removeprefix("#SBATCH --").split("=")[0] for line in lines if line.startswith("#SBATCH")]
    assert set(options) <= SBATCH
    assert "nodes" in options


@pytest.fixture(scope="module")
def job(launch: Path) -> dict[str, Any]:
    service, job = yaml.safe_load_all((launch / "kubernetes.yaml").read_text())
    assert service["spec"]["selector"]["job-name"] == job["metadata"]["name"]
    assert service["metadata"]["name"] == job["spec"]["template"]["spec"]["subdomain"]
    assert isinstance(job, dict)
    return job


def test_the_numbers_of_the_kubernetes_job_agree(tmp_path: Path, job: dict[str, Any]) -> None:
    spec = job["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    values = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
    assert spec["parallelism"] == spec["completions"] == int(values["NODES"])
    assert container["resources"]["limits"]["nvidia.com/gpu"] == int(values["PER_NODE"])
    assert container["command"] == ["bash", "-c"]
    (script,) = container["args"]
    command = ran(tmp_path, script, JOB_COMPLETION_INDEX="1", **values)
    assert {"--node_rank=1", "--master_addr=grpo-0.grpo", "--nproc_per_node=8"} <= set(command)
    config = load_config("dr-grpo", overrides=config_words(command))
    assert config.distributed.world_size == 16
    assert config.output.startswith("/runs/")


def test_the_kubernetes_job_mounts_what_it_declares(job: dict[str, Any]) -> None:
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
    assert pod["securityContext"]["runAsNonRoot"] is True


def test_two_machines_find_each_other(tmp_path: Path, launch: Path, root: Path) -> None:
    """Both of them here. They meet, and then miss the judge."""
    pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": f"{root}{os.pathsep}{root / 'trainer'}",
        "OMP_NUM_THREADS": "1",
        "NODES": "2",
        "PER_NODE": "1",
        "FIRST": "127.0.0.1",
        "PORT": str(port),
    }
    words = shlex.split("--preset tiny-cpu model.path=x data.train=y.jsonl reward.url=http://127.0.0.1:9")
    nodes = [
        subprocess.Popen(
            ["bash", str(launch / "torchrun.sh"), *words, f"output={tmp_path}"],
            env=os.environ | own | {"NODE": str(number)},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        for number in range(2)
    ]
    try:
        said = "".join(node.communicate(timeout=LIMIT_S)[1] for node in nodes)
    finally:
        for node in nodes:
            node.kill()
    assert "is the service up?" in said, said[-3000:]
    assert "LaunchError" not in said
