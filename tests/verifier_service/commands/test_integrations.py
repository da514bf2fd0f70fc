"""`verifier path` and `verifier doctor`, against a real service."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from tests.verifier_service.server.processes import Served, served
from verifier_service.client import Client
from verifier_service.commands.chat_template import generation_prompt
from verifier_service.commands.integrations import add_integrations
from verifier_service.commands.path import names

app = typer.Typer()
add_integrations(app)

PLAIN = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|a|>{% endif %}"
)
OPENED = PLAIN.replace("<|a|>", "<|a|><think>\n")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("doctor") / "log", profile="r1-zero") as found:
        yield found


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERIFIER_API_KEY", raising=False)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def findings(*arguments: object, code: int = 0) -> dict[str, dict[str, Any]]:
    result = run("doctor", *arguments, "--json", "-")
    assert result.exit_code == code, result.output
    return {one["what"]: one for one in json.loads(result.stdout)["findings"]}


@pytest.mark.parametrize("name", names())
def test_the_path_of_an_adapter_is_a_file(name: str) -> None:
    result = run("path", name)
    assert result.exit_code == 0
    assert Path(result.stdout.strip()).name == f"for_{name}.py"
    assert Path(result.stdout.strip()).is_file()


@pytest.mark.parametrize(
    ("name", "file"),
    [("ms-swift", "for_ms_swift.py"), ("Unsloth", "for_trl.py"), ("prime-rl", "for_verifiers.py")],
)
def test_a_trainer_goes_by_its_usual_names(name: str, file: str) -> None:
    assert Path(run("path", name).stdout.strip()).name == file


def test_an_unknown_trainer_is_wrong_use() -> None:
    result = run("path", "easyr2")
    assert result.exit_code == 2
    assert 'Nearest: "easyr1"' in result.stderr


def test_all_adapters_are_listed() -> None:
    assert run("path").stdout.split() == names()
    assert {"trl", "verl", "openrlhf", "slime", "ms_swift", "easyr1", "areal", "verifiers", "skyrl"} < set(
        names()
    )


def test_the_doctor_finds_nothing_wrong(service: Served) -> None:
    found = findings(service.url)
    assert {one["level"] for name, one in found.items() if name != "format"} <= {"fine", "note"}
    assert {"reached", "version", "limits", "verdicts", "latency", "format"} <= set(found)
    shown = run("doctor", f"{service.url}/score").stdout
    assert "fine  verdicts" in shown


def test_a_template_that_opens_the_thinking_is_found(service: Served, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": OPENED}))
    found = findings(service.url, "--template", tmp_path, code=1)["format"]
    assert "always 0" in found["text"]
    assert "prefilled_think" in found["hint"]


def test_a_template_that_closes_the_thinking_is_found(service: Served, tmp_path: Path) -> None:
    path = tmp_path / "chat_template.jinja"
    path.write_text(OPENED.replace("<think>\n", "<think>\n\n</think>\n\n"))
    found = findings(service.url, "--template", path)["format"]
    assert found["level"] == "note"
    assert "Turn thinking on" in found["hint"]


def test_a_profile_in_the_address_is_the_one_that_is_examined(service: Served, tmp_path: Path) -> None:
    path = tmp_path / "chat_template.jinja"
    path.write_text(OPENED)
    plain = findings(f"{service.url}/score?profile=accuracy", "--template", path)["format"]
    assert 'the profile "accuracy" has no reward for the format' in plain["text"]
    findings(f"{service.url}/score?profile=accuracy", "--template", path, "--profile", "r1-zero", code=1)


def test_a_key_that_no_header_takes_is_said(service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIFIER_API_KEY", "schlüssel")
    result = run("doctor", service.url)
    assert result.exit_code == 2
    assert "VERIFIER_API_KEY" in result.stderr
    assert "schlüssel" not in result.output


def test_a_password_in_the_address_is_not_shown(service: Served) -> None:
    for url in ("http://me:secret@127.0.0.1:1", f"{service.url},http://me:secret@127.0.0.1:1"):
        result = run("doctor", url)
        assert result.exit_code in (1, 3)
        assert "secret" not in result.output


def test_each_of_several_servers_is_examined(service: Served) -> None:
    result = run("doctor", f"{service.url},http://127.0.0.1:1", "--json", "-")
    assert result.exit_code == 1
    found = json.loads(result.stdout)["findings"]
    assert [one["text"] for one in found if one["what"] == "server"] == [service.url, "http://127.0.0.1:1"]
    assert [one["level"] for one in found if one["what"] == "reached"] == ["fine", "fault"]
    assert "engines" not in {one["what"] for one in found}
    both = findings(f"{service.url},{service.url}/")
    assert "server" not in both


def test_servers_that_judge_differently_are_found(service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    info, engines = Client.info, iter(["e1", "e2"])
    monkeypatch.setattr(Client, "info", lambda self: info(self).model_copy(update={"engine": next(engines)}))
    other = service.url.replace("127.0.0.1", "localhost")
    found = findings(f"{service.url},{other}", code=1)
    assert "engines differ" in found["engines"]["text"]


def test_a_template_that_does_not_is_fine(service: Served, tmp_path: Path) -> None:
    path = tmp_path / "chat_template.jinja"
    path.write_text(PLAIN)
    assert findings(service.url, "--template", path)["format"]["level"] == "fine"
    assert findings(service.url, "--template", path, "--profile", "accuracy")["format"]["level"] == "fine"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{}", "holds no chat template"),
        ("[1", "is not a tokenizer_config"),
        ('{"chat_template": "{{ 1 / 0 }}"}', "rendered"),
        ('{"chat_template": "{% if"}', "rendered"),
    ],
)
def test_a_template_that_is_none_is_wrong_use(
    service: Served, tmp_path: Path, content: str, told: str
) -> None:
    path = tmp_path / "tokenizer_config.json"
    path.write_text(content)
    result = run("doctor", service.url, "--template", path)
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_template_is_rendered_as_models_write_them() -> None:
    template = "{%- if messages[0]['role'] == 'user' %}\n{{- messages | tojson }}{%- endif %}{{ strftime_now('%Y') }}"
    assert "84 km" in generation_prompt(template)


def test_groups_that_do_not_divide_are_found(service: Served) -> None:
    found = findings(service.url, "--batch", 60, "--generations", 8, code=1)
    assert found["groups"]["level"] == "fault"
    assert "Try 64." in found["groups"]["hint"]
    found = findings(service.url, "--batch", 4, "--generations", 8, "--processes", 2)
    assert found["groups"]["level"] == "note"
    found = findings(service.url, "--batch", 5000, "--generations", 8)
    assert "2 requests" in found["batch"]["text"]


def test_an_unknown_profile_is_found(service: Served) -> None:
    assert "known: accuracy" in findings(service.url, "--profile", "r2", code=1)["profile"]["text"]


def test_a_service_that_is_not_there_is_code_three() -> None:
    result = run("doctor", "http://127.0.0.1:1")
    assert result.exit_code == 3
    assert "this container alone" in result.stderr


def test_a_missing_key_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path / "log", api_key="secret") as guarded:
        assert "Set VERIFIER_API_KEY" in findings(guarded.url, code=1)["key"]["hint"]
        monkeypatch.setenv("VERIFIER_API_KEY", "wrong")
        assert "wrong one" in findings(guarded.url, code=1)["key"]["hint"]
        monkeypatch.setenv("VERIFIER_API_KEY", "secret")
        assert "takes the key" in findings(guarded.url)["reached"]["text"]


def test_what_is_no_such_service_is_found(service: Served) -> None:
    assert "404" in findings(f"{service.url}/elsewhere", code=1)["service"]["text"]
