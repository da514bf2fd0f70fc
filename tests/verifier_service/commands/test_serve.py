"""Every setting is a flag, and a wrong one is told by its names."""

import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from verifier_service.cli import app
from verifier_service.commands.serve import PANELS, flag
from verifier_service.server.settings import Settings

# Runs `verifier` where the packages of the server are not installed.
WITHOUT_SERVER = """
import sys
for name in ("fastapi", "flint", "pydantic_settings", "starlette", "sympy", "uvicorn"):
    sys.modules[name] = None
from verifier_service.cli import app
app(sys.argv[1:])
"""


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["serve", *arguments])
    assert result.exit_code == 2
    return result.stderr


def test_every_setting_is_a_flag_in_the_help() -> None:
    text = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200"}).stdout
    for name, field in Settings.model_fields.items():
        assert flag(name) in text
        assert str(field.description).split()[0] in text


def test_every_setting_stands_under_a_heading() -> None:
    headed = [name for names in PANELS.values() for name in names]
    assert sorted(headed) == sorted(Settings.model_fields)


def test_the_flags_are_handed_on_as_the_settings_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Settings] = []

    def starts(settings: Settings) -> int:
        started.append(settings)
        return 0

    monkeypatch.setattr("verifier_service.server.app.serve", starts)
    monkeypatch.setenv("VERIFIER_PORT", "9001")
    monkeypatch.setenv("VERIFIER_MAX_ITEMS", "7")
    arguments = ["--port", "9002", "--data-sources", '{"gsm8k": "r1"}', "--deadline-s", "2.5"]
    assert CliRunner().invoke(app, ["serve", *arguments]).exit_code == 0
    (settings,) = started
    assert (settings.port, settings.max_items, settings.deadline_s) == (9002, 7, 2.5)
    assert settings.data_sources == {"gsm8k": "r1"}


def test_the_exit_code_of_the_service_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verifier_service.server.app.serve", lambda settings: 1)
    assert CliRunner().invoke(app, ["serve"]).exit_code == 1


def test_a_wrong_value_is_told_by_flag_and_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--port (VERIFIER_PORT): Input should be a valid integer" in refused("--port", "many")
    monkeypatch.setenv("VERIFIER_MAX_ITEMS", "0")
    assert "--max-items (VERIFIER_MAX_ITEMS)" in refused()


def test_a_flag_or_a_variable_that_should_be_json_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--data-sources takes JSON" in refused("--data-sources", "{gsm8k")
    monkeypatch.setenv("VERIFIER_DATA_SOURCES", "{gsm8k")
    assert "VERIFIER_DATA_SOURCES takes JSON" in refused()


def test_an_unknown_profile_names_the_nearest() -> None:
    message = refused("--profile", "r1-zreo")
    assert 'no profile "r1-zreo". Nearest: "r1-zero".' in message
    assert "docs/profiles.md" in message


def test_a_flag_that_is_none_is_refused() -> None:
    assert "No such option" in refused("--prot", "1")


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["serve", "--port", "9"], "serving needs the server"),
        (["explain", "5", "5"], "judging in process needs"),
        (["serve", "--help"], "verifier serve"),
        (["explain", "5", "5", "--url", "http://127.0.0.1:1"], "no reply from http://127.0.0.1:1"),
    ],
)
def test_the_light_install_says_what_to_install(arguments: list[str], told: str) -> None:
    command = [sys.executable, "-c", WITHOUT_SERVER, *arguments]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert told in done.stdout + done.stderr
    if "needs" in told:
        assert done.returncode == 2
        assert 'pip install "verifier-service[server]"' in done.stderr


def test_a_flag_has_the_type_of_its_setting_in_the_help() -> None:
    text = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200"}).stdout
    for name, kind in (
        ("port", "INTEGER"),
        ("deadline-s", "NUMBER"),
        ("data-sources", "JSON"),
        ("host", "TEXT"),
    ):
        assert re.search(rf"--{name}\s+{kind}\b", text), name


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("VERIFIER_KEYS_FILE", "/nosuch/keys", "verifier keys add"),
        ("VERIFIER_REDIS_URL", "127.0.0.1:6379", "redis://"),
        ("VERIFIER_REDIS_URL", "redis://:hush/hush@127.0.0.1:6379/0", "%XX"),
        ("VERIFIER_API_KEY_FILE", "/nosuch/key", "VERIFIER_API_KEY_FILE"),
        ("VERIFIER_DATA_SOURCES", "{gsm8k", "VERIFIER_DATA_SOURCES takes JSON: Expecting property name"),
        ("VERIFIER_PROFILES", "/nosuch/profiles", "/nosuch/profiles"),
        ("VERIFIER_HOST", "256.256.256.256", "256.256.256.256"),
    ],
)
def test_what_stops_the_start_is_told_in_a_line_and_with_what_to_do(
    variable: str, value: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    message = refused("--port", "0")
    assert message.startswith("error: ")
    assert told in message
    assert "hush" not in message
