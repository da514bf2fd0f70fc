"""What the commands print is safe for a terminal, and plain where there is none."""

from pathlib import Path

import pytest
import typer
from rich.text import Text

from verifier_service.commands.console import (
    STDOUT,
    CommandError,
    console,
    errors_that_help,
    one_line,
    printable,
    write_json,
)


def test_an_error_says_what_is_wrong_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as stopped, errors_that_help():
        raise CommandError("no such thing", "Try this.\nOr that.", 3)
    assert stopped.value.exit_code == 3
    assert capsys.readouterr() == ("", "error: no such thing\n       Try this.\n       Or that.\n")


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


def test_a_report_that_cannot_be_written_is_an_error_that_helps(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot write"):
        write_json({}, tmp_path / "missing" / "report.json")
