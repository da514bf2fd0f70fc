"""The README's examples run as they stand, and what it names is there."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services import VERIFIER, running_service

PRINTED = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_service(log=tmp_path_factory.mktemp("service") / "log") as base:
        yield base


def run(*command: str | Path, cwd: Path, code: int = 0) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=os.environ | {"COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_the_two_commands_stand_at_the_top(readme: str) -> None:
    assert re.search(r"make demo .*\n\s+make test ", "\n".join(readme.splitlines()[:12]))


def test_the_python_examples_run(readme: str, url: str, tmp_path: Path) -> None:
    first, second = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    shown = run(sys.executable, "-c", first.replace(PRINTED, url), cwd=tmp_path)
    assert [line.split()[:2] for line in shown.splitlines()] == [
        ["1.5", "correct"],
        ["0.5", "incorrect"],
        ["1.0", "correct"],
    ]
    call = r"print(reward([r'<think>a</think>\boxed{5}', r'\boxed{5}', 'none'], ['5', 'N/A', '5']))"
    assert (
        run(sys.executable, "-c", f"{second.replace(PRINTED, url)}\n{call}", cwd=tmp_path)
        == "[2.0, None, 0.0]\n"
    )


def test_the_curl_example_runs(readme: str, url: str, tmp_path: Path) -> None:
    (body,) = re.findall(r"curl -s .*?-d '(.*?)'", readme, flags=re.DOTALL)
    program = (
        "import httpx, sys; url, body = sys.argv[1:]; "
        "print(httpx.post(url, content=body, headers={'content-type': 'application/json'}).text)"
    )
    reply = json.loads(run(sys.executable, "-c", program, f"{url}/score", body, cwd=tmp_path))
    assert reply["rewards"] == [1.0]


def test_the_command_line_examples_run(readme: str, root: Path, tmp_path: Path) -> None:
    assert "verifier score examples/demo/rollouts.jsonl -o scored.jsonl" in readme
    out = tmp_path / "scored.jsonl"
    run(VERIFIER, "score", "examples/demo/rollouts.jsonl", "-o", out, cwd=root)
    rollouts = (root / "examples/demo/rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(out.read_text(encoding="utf-8").splitlines()) == len(rollouts)
    assert r"verifier explain '\frac{1}{2}' 'so \boxed{0.5}'" in readme
    assert "correct" in run(VERIFIER, "explain", r"\frac{1}{2}", r"so \boxed{0.5}", cwd=tmp_path)
    assert "verifier check-golds data.jsonl" in readme
    run(VERIFIER, "check-golds", root / "examples/demo/problems.jsonl", cwd=tmp_path)


def test_every_document_that_it_names_is_there_and_every_document_is_named(readme: str, root: Path) -> None:
    named = set(re.findall(r"\bdocs/[\w-]+\.md", readme))
    assert {path.relative_to(root).as_posix() for path in (root / "docs").glob("*.md")} == named


def test_every_make_target_that_documents_name_is_there(root: Path) -> None:
    targets = set(
        re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
    for path in (root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").glob("*.md")):
        named = re.findall(r"(?:^    |`)make ([a-z-]+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert set(named) <= targets, path
