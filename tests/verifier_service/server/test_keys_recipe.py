"""The recipe of docs/deploy.md for a trainer on another host, followed line by line."""

import os
import re
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from tests.services import VERIFIER
from tests.verifier_service.server.processes import served

SOON_S = 5.0


@pytest.fixture(scope="module")
def commands(root: Path) -> list[list[str]]:
    """What the recipe has one do about keys, in its order."""
    page = (root / "docs" / "deploy.md").read_text(encoding="utf-8")
    section = page.partition("### Trainers on another host\n")[2].partition("\n## ")[0]
    return [line.split() for line in re.findall(r"^    verifier (keys .*)$", section, re.MULTILINE)]


def verifier(*arguments: str, cwd: Path, **variables: str) -> str:
    ended = subprocess.run(
        [VERIFIER, *arguments],
        cwd=cwd,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def key_in(text: str) -> str:
    found = re.search(r"vk_[\w-]{40,}", text)
    assert found
    return found[0]


def test_a_trainer_gets_a_key_and_another_one_without_a_pause(
    commands: list[list[str]], tmp_path: Path
) -> None:
    add, add_another, remove = commands
    first = key_in(verifier(*add, cwd=tmp_path))
    with served(tmp_path / "log", host="0.0.0.0", keys_file=str(tmp_path / "keys")) as found:
        verifier("doctor", found.url, cwd=tmp_path, VERIFIER_API_KEY=first)

        def status(key: str) -> int:
            headers = {"Authorization": f"Bearer {key}"}
            return httpx.get(f"{found.url}/info", headers=headers, trust_env=False).status_code

        def becomes(key: str, wanted: int) -> bool:
            deadline = time.monotonic() + SOON_S
            while status(key) != wanted and time.monotonic() < deadline:
                time.sleep(0.05)
            return status(key) == wanted

        second = key_in(verifier(*add_another, cwd=tmp_path))
        assert becomes(second, 200)
        assert status(first) == 200
        verifier(*remove, cwd=tmp_path)
        assert becomes(first, 401)
        assert status(second) == 200
        assert not found.said("WITHOUT AN API KEY")
