"""compose.yaml, built and started for real: what it serves, and what it may not do."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.containers

PROJECT = "verifier-compose-test"


@dataclass(frozen=True, slots=True)
class Compose:
    """The running project: its address, and the engine's commands about it."""

    root: Path
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __call__(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"VERIFIER_PUBLISH_PORT": str(self.port)}
        command = ["docker", "compose", "--project-name", PROJECT, *arguments]
        done = subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done

    def inside(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self("exec", "-T", "verifier", *command, check=check)

    def inspect(self) -> dict[str, Any]:
        container = self("ps", "--all", "--quiet", "verifier").stdout.strip()
        done = subprocess.run(["docker", "inspect", container], capture_output=True, text=True, check=True)
        (facts,) = json.loads(done.stdout)
        assert isinstance(facts, dict)
        return facts

    def post(self, items: list[dict[str, Any]]) -> dict[str, Any]:
        with httpx.Client(base_url=self.url, trust_env=False, timeout=60) as client:
            reply = client.post("/score", json={"items": items}).raise_for_status().json()
        assert isinstance(reply, dict)
        return reply

    def get(self, path: str) -> httpx.Response:
        with httpx.Client(base_url=self.url, trust_env=False, timeout=10) as client:
            return client.get(path)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def compose(engine: None, root: Path) -> Iterator[Compose]:
    """Build, start, wait until healthy; what a killed run left behind goes first."""
    project = Compose(root, free_port())
    clean = ("down", "--volumes", "--remove-orphans", "--timeout", "5")
    project(*clean)
    try:
        project("build")
        started = project("up", "--detach", "--wait", "--wait-timeout", "180", check=False)
        assert started.returncode == 0, started.stderr + project("logs", "--no-color").stdout
        yield project
    finally:
        project(*clean)


def test_it_answers_ready_once_it_is_healthy(compose: Compose) -> None:
    assert compose.inspect()["State"]["Health"]["Status"] == "healthy"
    assert compose.get("/readyz").status_code == 200


def test_it_scores_a_batch(compose: Compose) -> None:
    items = [
        {"completion": r"so \boxed{\frac{1}{2}}", "gold": "0.5"},
        {"completion": r"so \boxed{3}", "gold": "4"},
        {"completion": "no box", "gold": "4"},
    ]
    reply = compose.post(items)
    assert [result["verdict"] for result in reply["results"]] == ["correct", "incorrect", "no_answer"]
    assert reply["rewards"] == [1.0, 0.0, 0.0]


def test_a_monstrous_answer_leaves_the_same_process_serving(compose: Compose) -> None:
    before = compose.get("/info").json()["pid"]
    reply = compose.post(
        [{"completion": r"\boxed{7^{10^{10}}}", "gold": "7"}, {"completion": r"\boxed{2}", "gold": "2"}]
    )
    assert [result["verdict"] for result in reply["results"]] == ["incorrect", "correct"]
    assert compose.get("/info").json()["pid"] == before
    assert compose.inspect()["RestartCount"] == 0


def test_the_documentation_page_is_served(compose: Compose) -> None:
    assert compose.get("/docs").status_code == 200


def test_no_process_runs_as_root_or_with_a_capability(compose: Compose) -> None:
    program = (
        "import glob; print(*(open(p).read() for p in glob.glob('/proc/[0-9]*/status')), sep='\\n--\\n')"
    )
    statuses = compose.inside("python", "-c", program).stdout.split("\n--\n")
    assert len(statuses) >= 3  # the init, the server, this probe; workers on top
    for status in statuses:
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        assert fields["Uid"].split() == ["10001"] * 4
        assert int(fields["CapEff"], 16) == 0
        assert fields["NoNewPrivs"].strip() == "1"


def test_the_root_file_system_is_read_only(compose: Compose) -> None:
    refused = compose.inside("sh", "-c", "touch /opt/venv/x || touch /x || touch /home/x", check=False)
    assert refused.returncode != 0
    assert "Read-only file system" in refused.stderr
    compose.inside("sh", "-c", "touch /tmp/x && rm /tmp/x")


def test_it_is_published_on_loopback_alone(compose: Compose) -> None:
    published = compose.inspect()["NetworkSettings"]["Ports"]["8000/tcp"]
    assert [binding["HostIp"] for binding in published] == ["127.0.0.1"]


def test_the_image_holds_no_installer_and_no_trainer(compose: Compose) -> None:
    program = (
        "import importlib.util as u; "
        "print([m for m in ('pip', 'setuptools', 'torch', 'grpo_trainer') if u.find_spec(m)])"
    )
    assert compose.inside("python", "-c", program).stdout.strip() == "[]"


def test_it_stops_on_request_within_its_grace_time(compose: Compose) -> None:
    """Last: it ends the container that the others talk to."""
    compose("stop", "--timeout", "20")
    state = compose.inspect()["State"]
    assert state["Status"] == "exited"
    assert state["ExitCode"] == 0
