"""The demo as a newcomer meets it, without a terminal and on one."""

import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.services import free_port


@pytest.fixture(scope="module")
def demo(root: Path) -> Path:
    return root / "examples" / "demo"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_rollouts_answer_every_problem_and_are_not_filtered(demo: Path) -> None:
    problems = {row["id"]: row for row in rows(demo / "problems.jsonl")}
    rollouts = rows(demo / "rollouts.jsonl")
    samples = Counter(row["group"] for row in rollouts)
    assert len(problems) >= 60
    assert set(samples) == set(problems)
    assert len(set(samples.values())) == 1  # the same number of samples for each: none was picked out
    for row in rollouts:
        problem = problems[row["group"]]
        assert (row["prompt"], row["gold"]) == (problem["question"], problem["gold"])


def test_a_third_of_the_rollouts_have_a_box_and_some_have_none(demo: Path) -> None:
    boxed = ["\\boxed" in row["completion"] for row in rows(demo / "rollouts.jsonl")]
    assert len(boxed) / 3 <= sum(boxed) < len(boxed)


def test_without_a_terminal_it_shows_every_verdict_stops_and_exits_with_zero(demo: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, demo / "run.py", "--port", str(port)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    (url,) = set(re.findall(r"http://127\.0\.0\.1:\d+", done.stdout))
    assert not url.endswith(f":{port}")
    rollouts = rows(demo / "rollouts.jsonl")
    summary = re.search(
        r"(\d+) rollouts in [\d.]+ s: (\d+) correct, (\d+) incorrect, (\d+) no answer, 0 without", done.stdout
    )
    assert summary, done.stdout
    total, *verdicts = map(int, summary.groups())
    assert total == len(rollouts) == sum(verdicts)
    assert min(verdicts) > 0
    shown = Counter(re.findall(r"│ (correct|incorrect|no answer) +│", done.stdout))
    assert [shown[name] for name in ("correct", "incorrect", "no answer")] == verdicts
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/healthz", trust_env=False)


def test_on_a_terminal_it_serves_until_it_is_interrupted(demo: Path) -> None:
    outside, inside = pty.openpty()
    command = [sys.executable, str(demo / "run.py"), "--port", str(free_port())]
    process = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
    os.close(inside)
    try:
        shown = read_until(outside, "Ctrl-C", seconds=120)
        found = re.search(r"http://127\.0\.0\.1:\d+", shown)
        assert found, shown
        assert httpx.get(f"{found[0]}/healthz", trust_env=False).status_code == 200
        os.killpg(process.pid, signal.SIGINT)  # what the terminal does: the whole group gets it
        read_until(outside, "Stopped.", seconds=30)
        assert process.wait(30) == 0
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{found[0]}/healthz", trust_env=False)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(outside)


def read_until(terminal: int, word: str, *, seconds: float) -> str:
    deadline = time.monotonic() + seconds
    shown = ""
    while word not in shown:
        left = deadline - time.monotonic()
        assert left > 0, f"{word!r} was not shown within {seconds} s: {shown}"
        if select.select([terminal], [], [], left)[0]:
            shown += os.read(terminal, 65536).decode("utf-8", "replace")
    return shown
