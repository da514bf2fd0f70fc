"""`verifier` as a process of its own: on a terminal, in a pipe, stopped by Ctrl-C."""

import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services import VERIFIER
from tests.verifier_service.commands.running import lines

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="terminals are those of Linux")

PATIENCE_S = 30.0
ROWS = 6_000


def environment() -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    return kept | {"TERM": "xterm-256color"}


class Terminal:
    """A command whose stderr, and stdout too if asked for, is a terminal of this width."""

    def __init__(self, *arguments: str | Path, width: int = 80) -> None:
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        command = [str(VERIFIER), *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(), start_new_session=True
        )
        os.close(theirs)
        self.shown = ""

    def pieces(self) -> Iterator[str]:
        """What is shown, as it comes."""
        while select.select([self._ours], [], [], PATIENCE_S)[0]:
            try:
                piece = os.read(self._ours, 65536).decode("utf-8", "replace")
            except OSError:  # the last process has closed it
                return
            self.shown += piece
            yield piece
        raise AssertionError(f"nothing more was shown: {self.shown!r}")

    def end(self) -> int:
        for _ in self.pieces():
            pass
        os.close(self._ours)
        return self.process.wait(PATIENCE_S)


def plain(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


def rows(tmp_path: Path) -> Path:
    row = {"completion": r"so \boxed{%d}", "gold": "7"}
    numbered = [row | {"id": n, "completion": rf"so \boxed{{{n}}}"} for n in range(ROWS)]
    return lines(tmp_path / "rows.jsonl", numbered)


def test_ctrl_c_stops_score_and_the_same_command_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    command = ("score", rows(tmp_path), "-o", out, "--workers", "1", "--batch", "32")
    first = Terminal(*command)
    for _ in first.pieces():
        if re.search(rf" [1-9]\d*/{ROWS}", plain(first.shown)):
            break
    first.process.send_signal(signal.SIGINT)
    assert first.end() == 130
    done = [json.loads(line)["index"] for line in out.read_text().splitlines()]
    assert 0 < len(done) < ROWS
    assert f"holds {len(done)} rows" in plain(first.shown).replace("\r\n", " ")
    assert "Traceback" not in first.shown
    second = Terminal(*command)
    assert second.end() == 0
    assert [json.loads(line)["index"] for line in out.read_text().splitlines()] == list(range(ROWS))
    assert f"over {ROWS} rows" in plain(second.shown)


def test_a_narrow_terminal_gets_colours_and_no_line_too_wide(url: str) -> None:
    text = "<think>\x1b[2J\x1b]0;title\x07 两个 half</think>so \\boxed{0.5}\u202e"
    terminal = Terminal("explain", r"\frac{1}{2}", text, "--profile", "r1-zero", "--url", url, width=40)
    assert terminal.end() == 0
    assert "\x1b[1;32m" in terminal.shown
    assert "\x1b[2J" not in terminal.shown
    assert "\x1b]" not in terminal.shown
    assert "\u202e" not in terminal.shown
    table = plain(terminal.shown).splitlines()[1:]
    assert all(len(line) <= 40 for line in table)


def test_a_pipe_of_ascii_takes_any_text(url: str) -> None:
    command = [str(VERIFIER), "explain", "5", "两 \udcff \\boxed{½}", "--url", url]
    narrow = environment() | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command, env=narrow, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"\\u4e24" in done.stdout
    assert b"\x1b" not in done.stdout


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "verifier_service.cli", "serve", "--port", "many"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--port (VERIFIER_PORT)" in done.stderr
