"""A real service for the adapters, and records of what the trainers pass to them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.remotes import none_left_open
from tests.verifier_service.server.processes import Served, served

RECORDED = Path(__file__).parents[2] / "integration" / "recorded"


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One for all tests that only ask."""
    with served(tmp_path_factory.mktemp("adapters") / "log", deadline_s="20") as found:
        yield found


@pytest.fixture(autouse=True)
def _at_the_service(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERIFIER_API_KEY", raising=False)
    monkeypatch.delenv("VERIFIER_URL", raising=False)
    if "service" in request.fixturenames:
        monkeypatch.setenv("VERIFIER_URL", request.getfixturevalue("service").url)


def record(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _nothing_left_open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with none_left_open(monkeypatch):
        yield
