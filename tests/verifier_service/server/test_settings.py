"""Settings: from the environment, from arguments, and what they may be."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from verifier_service.server.settings import Settings, misspelt, usable_cores, variable


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(variable(name), raising=False)


def test_by_default_only_this_machine_can_ask() -> None:
    settings = Settings()
    assert (settings.host, settings.port, settings.profile) == ("127.0.0.1", 8000, "accuracy")
    assert not settings.is_public
    assert settings.api_key is None


def test_every_setting_is_a_variable_with_a_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIFIER_PORT", "9000")
    monkeypatch.setenv("VERIFIER_PROFILES", "/etc/profiles")
    monkeypatch.setenv("VERIFIER_DATA_SOURCES", '{"gsm8k": "r1-zero"}')
    monkeypatch.setenv("VERIFIER_API_KEY", "k")
    monkeypatch.setenv("PORT", "1")
    settings = Settings()
    assert (settings.port, settings.profiles) == (9000, Path("/etc/profiles"))
    assert settings.data_sources == {"gsm8k": "r1-zero"}
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == "k"


def test_an_argument_wins_over_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIFIER_PORT", "9000")
    assert Settings(port=9001).port == 9001


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.setenv(variable(name), "")
    settings = Settings()
    assert (settings.port, settings.profiles, settings.api_key, settings.data_sources) == (
        8000,
        None,
        None,
        {},
    )


def test_the_key_is_not_shown() -> None:
    assert "hush" not in repr(Settings(api_key="hush"))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["api_key", "redis_url"])
def test_a_secret_may_stand_in_a_file(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    monkeypatch.setenv(f"{variable(name)}_FILE", str(file))
    with pytest.raises(ValueError, match="cannot be read"):
        Settings()
    file.write_text("\n")
    with pytest.raises(ValueError, match="holds nothing"):
        Settings()
    file.write_text("hush\n")
    assert getattr(Settings(), name).get_secret_value() == "hush"
    monkeypatch.setenv(variable(name), "other")
    assert getattr(Settings(), name).get_secret_value() == "other"


@pytest.mark.parametrize(
    "wrong",
    [
        {"port": 70000},
        {"port": "http"},
        {"workers": 0},
        {"max_items": 0},
        {"deadline_s": 0},
        {"deadline_s": float("nan")},
        {"deadline_s": 20, "max_deadline_s": 10},
        {"log_level": "loud"},
        {"cache_mb": -1},
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings(**wrong)


@pytest.mark.parametrize(
    ("host", "public"),
    [
        ("127.0.0.1", False),
        ("127.8.8.8", False),
        ("::1", False),
        ("localhost", False),
        ("0.0.0.0", True),
        ("::", True),
        ("10.0.0.5", True),
        ("judge.cluster", True),
        ("", True),
    ],
)
def test_a_public_address_is_known_as_one(host: str, public: bool) -> None:
    assert Settings(host=host).is_public is public


@pytest.mark.parametrize(("given", "read"), [("", ""), ("/", ""), ("judge", "/judge"), ("/a/b/", "/a/b")])
def test_a_prefix_has_one_slash_in_front_and_none_behind(given: str, read: str) -> None:
    assert Settings(root_path=given).root_path == read


def test_there_is_a_worker_for_each_core_that_may_be_used() -> None:
    assert Settings().workers == usable_cores() >= 1


def test_every_setting_describes_itself() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert field.description.endswith("."), name


def test_a_variable_that_is_nearly_one_of_a_setting_is_noticed() -> None:
    names = ["VERIFIER_WORKRES", "VERIFIER_MAX_ITEM", "VERIFIER_DEADLINE"]
    meant = ["VERIFIER_WORKERS", "VERIFIER_MAX_ITEMS", "VERIFIER_DEADLINE_S"]
    assert misspelt(names) == list(zip(names, meant, strict=True))


def test_variables_of_settings_and_of_others_are_not() -> None:
    own = [variable(name) for name in Settings.model_fields]
    secrets = ["VERIFIER_API_KEY_FILE", "VERIFIER_REDIS_URL_FILE"]
    others = ["VERIFIER_URL", "VERIFIER_IMAGE", "VERIFIER_PUBLISH_PORT", "VERIFIER_REPLICAS"]
    assert misspelt([*own, *secrets, *others, "VERIFIER_MAX_ERROR_RATE", "WORKRES"]) == []
