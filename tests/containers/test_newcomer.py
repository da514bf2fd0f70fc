"""The README's first two commands, in a bare Debian container, as a user without rights."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.containers

IMAGE = "verifier-newcomer-test"
# What a Debian user installs beforehand. pip is told to trust the system's certificates, which a
# machine behind a proxy needs and which changes nothing elsewhere.
DOCKERFILE = """
FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
    python3 python3-venv git make ca-certificates && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home newcomer && git config --system --add safe.directory '*'
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt
USER newcomer
WORKDIR /home/newcomer
"""
STEPS = (
    "git clone --quiet /checkout verifier-service",
    "cd verifier-service && make demo",
    "cd verifier-service && make test",
)


@pytest.fixture(scope="module")
def container(engine: None, root: Path) -> str:
    built = subprocess.run(
        ["docker", "build", "--tag", IMAGE, "-"],
        input=DOCKERFILE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    started = subprocess.run(
        [
            "docker",
            "run",
            "--detach",
            "--rm",
            "--init",
            "--volume",
            f"{root}:/checkout:ro",
            IMAGE,
            "sleep",
            "3600",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return started.stdout.strip()


def run(container: str, step: str) -> str:
    """Run one step without a terminal, show its output as it comes, return it."""
    start = time.monotonic()
    command = ["docker", "exec", container, "bash", "-c", step]
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            sys.stdout.write(f"| {line}")
    print(f"-- {step}: {time.monotonic() - start:.0f} s, exit {process.returncode}")
    assert process.returncode == 0, "".join(lines[-40:])
    return "".join(lines)


def test_a_newcomer_clones_runs_the_demo_and_the_tests(container: str) -> None:
    clone, demo, test = STEPS
    try:
        run(container, clone)
        shown = run(container, demo)
        assert re.search(r"http://127\.0\.0\.1:\d+", shown)
        assert "correct" in shown
        tested = run(container, test)
        assert re.search(r"\d+ passed", tested)
        assert run(container, "cd verifier-service && git status --porcelain") == ""
    finally:
        subprocess.run(["docker", "kill", container], capture_output=True, check=False)
