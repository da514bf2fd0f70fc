"""What can be asked or set is documented, and what is documented is so."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import BaseModel
from starlette.testclient import TestClient

from tests.verifier_service.server.processes import Served
from verifier_service import schema
from verifier_service.redis_link import OPEN_S
from verifier_service.server.app import KNOWN_PATHS
from verifier_service.server.problems import TITLES
from verifier_service.server.settings import Settings, variable
from verifier_service.workers.calls import FailureCode


@pytest.fixture(scope="module")
def api(root: Path) -> str:
    return (root / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def settings_page(root: Path) -> str:
    return (root / "docs" / "settings.md").read_text(encoding="utf-8")


def cells(page: str, first: str) -> list[str]:
    """The row of a table that begins with this cell."""
    for line in page.splitlines():
        row = [cell.strip() for cell in line.strip("|").split(" | ")]
        if row[0] == f"`{first}`":
            return row
    raise AssertionError(f"{first} is not documented")


def test_every_route_is_documented(api: str, client: TestClient) -> None:
    described = {
        f"{method.upper()} {path}"
        for path, methods in client.get("/openapi.json").json()["paths"].items()
        for method in methods
    }
    pages = {f"GET {path}" for path in KNOWN_PATHS if path.startswith(("/docs", "/openapi"))}
    for route in described | (pages - {"GET /docs/", "GET /docs/{name}"}):
        assert f"`{route}`" in api or f"## {route}\n" in api, route


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented_as_it_is(settings_page: str, name: str) -> None:
    field = Settings.model_fields[name]
    row = cells(settings_page, variable(name))
    assert row[1] == "`--{}`".format(name.replace("_", "-"))
    assert row[3] == field.description
    default = row[2].strip("`")
    if field.default_factory is None and field.default not in (None, ""):
        assert default == str(field.default)
    else:
        assert default in ("none", "one per usable core")


def test_a_default_that_a_page_tells_in_passing_is_the_default(root: Path) -> None:
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    told = [
        (page.name, name.lower(), float(number))
        for page in pages
        for name, number in re.findall(r"`VERIFIER_(\w+)` \((\d[\d.]*)", page.read_text(encoding="utf-8"))
        if name.lower() in Settings.model_fields
    ]
    assert told
    for page, name, number in told:
        assert (page, name, number) == (page, name, Settings.model_fields[name].default)


def test_how_long_redis_is_left_alone_is_documented_as_it_is(settings_page: str) -> None:
    assert f"left alone for {OPEN_S:g} s at a time" in settings_page


def test_no_setting_is_documented_that_is_not_there(settings_page: str) -> None:
    documented = set(re.findall(r"^\| `(VERIFIER_\w+)`", settings_page, re.MULTILINE))
    assert documented == {variable(name) for name in Settings.model_fields}


@pytest.mark.parametrize(
    "model",
    [
        schema.ScoreRequest,
        schema.Item,
        schema.RulesPatch,
        schema.ScoreResponse,
        schema.Result,
        schema.ItemError,
        schema.GoldQuery,
        schema.GoldResult,
        schema.Info,
        schema.Limits,
        schema.Problem,
    ],
)
def test_every_field_on_the_wire_is_documented(api: str, model: type[BaseModel]) -> None:
    for name in model.model_fields:
        assert f"`{name}`" in api, name


def test_every_other_name_of_a_field_is_documented(api: str) -> None:
    for field, names in schema.NAMES_OF.items():
        row = cells(api[api.index("| field | other names |") :], field)
        assert row[1] == ", ".join(f"`{name}`" for name in names if name != field)


@pytest.mark.parametrize("name", TITLES)
def test_every_problem_is_documented(api: str, name: str) -> None:
    assert re.search(rf"^\| \d{{3}} \| `{name}` \|", api, re.MULTILINE)


@pytest.mark.parametrize(
    "code", [*get_args(FailureCode), "invalid_item", "missing_input", "unverifiable_gold", "answer_timeout"]
)
def test_every_code_is_documented(api: str, code: str) -> None:
    assert len(cells(api, code)) == 3


def test_the_example_of_the_page_is_taken(api: str, client: TestClient) -> None:
    found = re.search(r"-d '(\{.*?\})'\n", api, re.DOTALL)
    assert found is not None
    body: Any = json.loads(found.group(1))
    assert client.post("/score", json=body).status_code == 200


def test_every_metric_is_documented_and_no_other(api: str, service: Served) -> None:
    text = httpx.get(f"{service.url}/metrics", trust_env=False).text
    found = {
        family.name + ("_total" if family.type == "counter" else "")
        for family in text_string_to_metric_families(text)
        if not family.name.endswith("_created")
    }
    assert set(re.findall(r"`(verifier_\w+)`", api)) == found
