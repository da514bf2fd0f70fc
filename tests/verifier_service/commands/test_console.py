"""What the commands print is safe for a terminal, and plain where there is none."""

import io
import logging
import sys
from pathlib import Path

import pytest
import typer
from rich.text import Text

from verifier_service.commands.console import (
    STDOUT,
    CommandError,
    any_text_can_be_written,
    check_json,
    console,
    errors_that_help,
    keep_log,
    one_line,
    printable,
    write_json,
)


def test_an_error_says_what_is_wrong_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as stopped, errors_that_help():
        raise CommandError("no such thing", "Try this.\nOr that.", 3)
    assert stopped.value.exit_code == 3
    assert capsys.readouterr() == ("", "error: no such thing\n       Try this.\n       Or that.\n")


def test_a_fault_of_the_system_is_told_in_a_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(typer.Exit) as stopped, errors_that_help():
        (tmp_path / "gone").read_text()
    assert stopped.value.exit_code == 2
    assert capsys.readouterr().err == f"error: {tmp_path / 'gone'}: No such file or directory\n"


def test_a_reader_that_has_read_enough_is_no_fault() -> None:
    with pytest.raises(BrokenPipeError), errors_that_help():
        raise BrokenPipeError


def test_what_an_encoding_lacks_is_written_as_an_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(narrow, encoding="ascii"))
    any_text_can_be_written()
    print("…两", flush=True)
    assert narrow.getvalue() == b"\\u2026\\u4e24\n"


def test_the_log_is_shown_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("verifier_service.workers.pool")
    keep_log(False)
    log.warning("lost %s", "one")
    assert capsys.readouterr().err == ""
    keep_log(True)
    log.warning("lost %s", "\x1b[2J")
    keep_log(False)
    assert capsys.readouterr().err == "warning: lost \\x1b[2J\n"


def test_there_are_no_colours_where_nobody_sees_them(capsys: pytest.CaptureFixture[str]) -> None:
    console().print(Text("red", style="bold red"))
    assert capsys.readouterr().out == "red\n"


def test_a_quiet_console_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    console(quiet=True).print("word")
    assert capsys.readouterr() == ("", "")


def test_model_text_cannot_steer_the_terminal() -> None:
    assert printable("a\x1b[2Jb\ud800\u200bc") == "a\\x1b[2Jb\\ud800\\u200bc"
    assert printable("两 é\n") == "两 é\n"


@pytest.mark.parametrize("text", ["short", "a" * 40, "a\n  b\tc", "x" * 10_000, "\x1b" * 500, "  " * 200])
def test_one_line_is_one_line_of_limited_length(text: str) -> None:
    line = one_line(text, 20)
    assert len(line) <= 20
    assert "\n" not in line
    assert line.isprintable()


def test_one_line_keeps_both_ends() -> None:
    line = one_line("begin " + "m" * 5000 + " end", 21)
    assert line.startswith("begin")
    assert line.endswith("end")
    assert "…" in line


def test_a_short_text_is_shown_whole() -> None:
    assert one_line("one  two\nthree", 20) == "one two three"


def test_a_report_goes_to_a_file_or_to_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json({"a": 1}, tmp_path / "report.json")
    write_json({"a": 1}, STDOUT)
    assert capsys.readouterr().out == (tmp_path / "report.json").read_text(encoding="utf-8")


def test_a_report_without_a_folder_is_refused_beforehand(tmp_path: Path) -> None:
    for place in (None, STDOUT, tmp_path / "report.json"):
        check_json(place)
    with pytest.raises(CommandError, match="no folder"):
        check_json(tmp_path / "missing" / "report.json")


def test_a_report_that_cannot_be_written_is_an_error_that_helps(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot write"):
        write_json({}, tmp_path / "missing" / "report.json")
