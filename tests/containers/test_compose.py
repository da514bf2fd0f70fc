"""compose.yaml, built and started for real: what it serves, and what it may not do."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.composed import Compose, running
from tests.services import free_port

pytestmark = pytest.mark.containers

PROJECT = "verifier-compose-test"


@pytest.fixture(scope="module")
def compose(engine: None, root: Path) -> Iterator[Compose]:
    with running(Compose(root, PROJECT, (root / "compose.yaml",), free_port())) as project:
        yield project


@pytest.mark.parametrize("file", ["compose.yaml", "compose.scale.yaml"])
def test_what_watches_it_is_described_soundly(engine: None, root: Path, file: str) -> None:
    """Prometheus and Grafana come from registries, so that here their description alone is checked."""
    project = Compose(root, PROJECT, (root / file,), free_port())
    services = project("--profile", "observe", "config", "--services").stdout.split()
    assert {"prometheus", "grafana", "verifier"} <= set(services)
    assert not {"prometheus", "grafana"} & set(project("config", "--services").stdout.split())
    described = json.loads(project("--profile", "observe", "config", "--format", "json").stdout)["services"]
    for name in ("prometheus", "grafana"):
        assert all(port["host_ip"] == "127.0.0.1" for port in described[name]["ports"])
        mounted = [
            Path(volume["source"]) for volume in described[name]["volumes"] if volume["type"] == "bind"
        ]
        assert mounted
        assert all(source.exists() for source in mounted)


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
