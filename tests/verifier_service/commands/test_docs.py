"""docs/cli.md names every command and every option, and none that is not there."""

import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from verifier_service.cases import read_cases
from verifier_service.cases.labels import CALLERS, CONTEXT, POLICIES, SAME_ON_THE_WIRE
from verifier_service.cli import app

COMMANDS: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]


def parameters_of(command: str) -> list[Any]:
    """Options and arguments of a command, or of all commands of a group."""
    members = getattr(COMMANDS[command], "commands", {command: COMMANDS[command]})
    return [parameter for member in members.values() for parameter in member.params]


def options_of(command: str) -> set[str]:
    return {name for option in parameters_of(command) for name in option.opts if name.startswith("-")}


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "cli.md").read_text(encoding="utf-8")


def section(page: str, command: str) -> str:
    found = re.search(rf"^## verifier {command}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found is not None, f"{command} is not documented"
    return found[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(page: str, command: str) -> None:
    assert f"(#verifier-{command})" in page
    assert f"    verifier {command}" in section(page, command)


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"serve"}))
def test_every_option_is_documented_and_no_other(page: str, command: str) -> None:
    cells = re.findall(r"^\| (`-.*?) \|", section(page, command), re.MULTILINE)
    documented = {name for cell in cells for name in re.findall(r"`(--?[\w-]+)`", cell)}
    assert documented == options_of(command)


def test_every_flag_of_serve_is_among_the_settings(root: Path, page: str) -> None:
    settings = (root / "docs" / "settings.md").read_text(encoding="utf-8")
    assert "(settings.md)" in section(page, "serve")
    assert {name for name in options_of("serve") if f"`{name}`" not in settings} == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_use_options_that_are_there(page: str, command: str) -> None:
    examples = re.findall(rf"^    .*?verifier {command}(.*)", section(page, command), re.MULTILINE)
    used = {name for example in examples for name in re.findall(r" (--?[a-z][\w-]*)", example)}
    assert used <= options_of(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_every_option_helps(command: str) -> None:
    assert COMMANDS[command].help
    assert [parameter.name for parameter in parameters_of(command) if not parameter.help] == []


def sessions(page: str) -> Iterator[tuple[str, str]]:
    """Each `$ command` of the page with what is shown below it."""
    for block in re.findall(r"^    \$ (.*\n(?:    .*\n|\n(?=    [^$]))*)", page, re.MULTILINE):
        command, _, output = block.partition("\n")
        yield command, output


def test_the_output_on_the_page_is_what_is_printed(
    page: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = set()
    for command, output in sessions(page):
        name, *arguments = shlex.split(command)
        shown = [line.removeprefix("    ").rstrip() for line in output.splitlines()]
        if name == "cat":
            Path(arguments[0]).write_text("\n".join(shown) + "\n", encoding="utf-8")
            continue
        done = CliRunner().invoke(app, [*arguments, "--url", url])
        assert [line.rstrip() for line in done.stdout.splitlines()] == shown, command
        commands.add(arguments[0])
    assert commands == {"score", "explain", "check-golds", "check-cases"}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_the_help_stand_on_lines_of_their_own(command: str) -> None:
    """At the width of a terminal; typer runs lines together where it sees no indent."""
    examples = re.findall(r"^    (verifier .*)", inspect.cleandoc(COMMANDS[command].help), re.MULTILINE)
    assert examples or command == "keys"
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80"}).stdout
    lines = {line.strip() for line in shown.splitlines()}
    assert set(examples) <= lines


def test_every_command_of_a_group_is_documented(page: str) -> None:
    for command, group in COMMANDS.items():
        for member in getattr(group, "commands", ()):
            assert f"verifier {command} {member}" in section(page, command)


def test_the_fields_of_cases_are_documented(page: str) -> None:
    text = section(page, "check-cases")
    for name in {*CONTEXT, *POLICIES, *set(CALLERS) - {"main_thread"}, *SAME_ON_THE_WIRE[:5]}:
        assert f"`{name}`" in text, name


def test_the_examples_of_cases_are_some(page: str, tmp_path: Path) -> None:
    lines = re.findall(r'^    (\{"id".*)', section(page, "check-cases"), re.MULTILINE)
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(lines))
    assert [case.id for case in read_cases([file])] == ["half", "half", "third", "hedge"]
