"""A compose project, built and started for real for a test, and gone afterwards."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

UP_S = 180


@dataclass(frozen=True, slots=True)
class Compose:
    """The running project: its address, and the engine's commands about it."""

    root: Path
    project: str
    files: tuple[Path, ...]
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __call__(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        own = {"VERIFIER_PUBLISH_PORT": str(self.port), "VERIFIER_IMAGE": f"{self.project}:local"}
        files = [option for file in self.files for option in ("--file", str(file))]
        command = ["docker", "compose", "--project-name", self.project, *files, *arguments]
        done = subprocess.run(
            command, cwd=self.root, env=os.environ | own, capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done

    def up(self, *services: str) -> None:
        """Starts what is not there, and waits until it is healthy."""
        started = self("up", "--detach", "--wait", "--wait-timeout", str(UP_S), *services, check=False)
        assert started.returncode == 0, started.stderr + self("logs", "--no-color").stdout

    def containers(self, service: str = "verifier") -> list[str]:
        return self("ps", "--all", "--quiet", service).stdout.split()

    def inspect(self, container: str | None = None) -> dict[str, Any]:
        container = container or self.containers()[0]
        done = subprocess.run(["docker", "inspect", container], capture_output=True, text=True, check=True)
        (facts,) = json.loads(done.stdout)
        assert isinstance(facts, dict)
        return facts

    def inside(
        self, *command: str, container: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        whole = ["docker", "exec", container or self.containers()[0], *command]
        done = subprocess.run(whole, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"{whole}: {done.stdout}{done.stderr}"
        return done

    def post(self, items: list[dict[str, Any]]) -> dict[str, Any]:
        with httpx.Client(base_url=self.url, trust_env=False, timeout=60) as client:
            reply = client.post("/score", json={"items": items}).raise_for_status().json()
        assert isinstance(reply, dict)
        return reply

    def get(self, path: str) -> httpx.Response:
        with httpx.Client(base_url=self.url, trust_env=False, timeout=10) as client:
            return client.get(path)


@contextmanager
def running(project: Compose) -> Iterator[Compose]:
    """Build, start, wait until healthy; what a killed run left behind goes first."""
    # Without its profile a service keeps its volumes.
    clean = ("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "5")
    project(*clean)
    try:
        project("build")
        project.up()
        yield project
    finally:
        project(*clean)
