"""The base install, as it comes from a package index: what is in it, and that its parts work."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from verifier_service.commands.path import names

pytestmark = pytest.mark.pypi

HEAVY = {
    "fastapi",
    "starlette",
    "uvicorn",
    "sympy",
    "latex2sympy2-extended",
    "python-flint",
    "torch",
    "numpy",
}


def test_a_base_install_holds_neither_server_nor_algebra_nor_torch(root: Path, tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=True)
    python = tmp_path / "bin" / "python"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [python, *arguments], env=env, capture_output=True, text=True, cwd=tmp_path, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(root))
    listed = run("-m", "pip", "list", "--format=freeze", "--disable-pip-version-check")
    installed = {line.partition("==")[0].lower() for line in listed.split()}
    assert {"httpx", "pydantic", "typer", "verifier-service"} <= installed
    assert installed & HEAVY == set()
    adapters = [f"verifier_service.adapters.for_{name}" for name in names() if name != "skyrl"]
    run("-c", f"import verifier_service.client, {', '.join(adapters)}")
    assert run("-m", "verifier_service.cli", "path", "trl").strip().endswith("for_trl.py")
    assert "VERIFIER" in run("-m", "verifier_service.cli", "doctor", "--help")
    assert sys.version_info[:2] == tuple(
        map(int, run("-c", "import sys; print(*sys.version_info[:2])").split())
    )
