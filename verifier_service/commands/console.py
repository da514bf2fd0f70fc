"""What the commands say and how they end: tables on stdout, progress and errors on stderr, exit codes."""

import io
import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text

FINE, FINDING, WRONG_USE, UNREACHABLE = 0, 1, 2, 3
INTERRUPTED = 130  # what shells say of a program that Ctrl-C ended
# A file or a pipe has no width of its own; a terminal and COLUMNS have.
WIDTH_OF_A_PIPE = 120
STDOUT = Path("-")


class CommandError(Exception):
    """Ends a command with a message for its user. `hint` says what to do about it."""

    def __init__(self, message: str, hint: str = "", exit_code: int = WRONG_USE) -> None:
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code


def console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """A console without colour codes where nobody would see the colours."""
    screen = Console(stderr=stderr, quiet=quiet, highlight=False, markup=False, emoji=False)
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = WIDTH_OF_A_PIPE
    return screen


@contextmanager
def errors_that_help() -> Iterator[None]:
    """Turns what a user can put right into `error: ...` on stderr and an exit code."""
    try:
        yield
    except CommandError as error:
        stop(error)
    except BrokenPipeError:  # `| head` has read enough
        raise
    except OSError as fault:  # a full disk, a file taken away meanwhile
        place = f"{fault.filename}: " if fault.filename else ""
        stop(CommandError(f"{place}{fault.strerror or fault}"))


def any_text_can_be_written() -> None:
    """What the encoding of a terminal or a pipe lacks is written as an escape, not as a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def keep_log(verbose: bool) -> bool:
    """The log of the judge, such as workers that were killed, goes to stderr where it is asked for."""
    log = logging.getLogger("verifier_service")
    log.handlers = [_LogLines() if verbose else logging.NullHandler()]
    log.setLevel(logging.INFO if verbose else logging.NOTSET)
    return verbose


class _LogLines(logging.Handler):
    """Writes to the stderr of the moment, which a progress bar takes over while it is shown."""

    def emit(self, record: logging.LogRecord) -> None:
        print(printable(f"{record.levelname.lower()}: {self.format(record)}"), file=sys.stderr)


def stop(error: CommandError) -> NoReturn:
    screen = console(stderr=True)
    screen.print(Text("error: ", style="bold red") + Text(printable(str(error))), soft_wrap=True)
    for line in error.hint.splitlines():
        screen.print(Text(f"       {line}"), soft_wrap=True)
    raise typer.Exit(error.exit_code)


def check_json(path: Path | None) -> None:
    """Refuses a place for the report where there is none, before anything is judged for it."""
    if path is not None and path != STDOUT and not path.parent.is_dir():
        raise CommandError(f"cannot write {path}: no folder {path.parent}")


def write_json(report: dict[str, Any], path: Path) -> None:
    """The report of a command into the file that `--json` names; "-" is stdout."""
    text = json.dumps(report, indent=2, default=str)
    if path == STDOUT:
        typer.echo(text)
        return
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as fault:
        raise CommandError(f"cannot write {path}: {fault.strerror}") from None


def printable(text: str) -> str:
    """The text with whatever could steer a terminal or fail to encode shown as an escape.

    Model text goes through here before it is shown: it may hold cursor movements or lone surrogates.
    """
    return "".join(mark if mark.isprintable() or mark == "\n" else _escaped(mark) for mark in text)


def one_line(text: str, limit: int) -> str:
    """Printable text on one line, cut in the middle to `limit` characters: both ends tell the most."""
    flat = printable(" ".join(text[: 4 * limit].split()) if len(text) <= 4 * limit else _ends(text, limit))
    return flat if len(flat) <= limit else _ends(flat, limit)


def _ends(text: str, limit: int) -> str:
    head = (limit - 1) // 2
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}".replace("\n", " ")


def _escaped(mark: str) -> str:
    return mark.encode("unicode_escape").decode("ascii")
