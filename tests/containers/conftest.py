"""A container engine, or a reason to skip. tools/container-base.sh brings one up on a bare Debian machine."""

import shutil
import subprocess

import pytest


def engine_answers() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    if not engine_answers():
        pytest.skip("no container engine answers: tools/container-base.sh up python redis haproxy")
