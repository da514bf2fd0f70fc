"""The OpenAPI document: true to the models, and the service true to it."""

import json
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

from tests.verifier_service.server.processes import Served
from verifier_service.schema import Item, Result, ScoreRequest

# Left out on purpose: `negative_data_rejection`, since a bad item costs that item, not the request; and
# `positive_data_acceptance`, whose place the test takes: names of profiles and rewards are not in the schema.
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def api(service: Served) -> Any:
    return schemathesis.openapi.from_url(f"{service.url}/openapi.json")


@pytest.mark.parametrize(
    ("method", "path", "examples"),
    [
        ("POST", "/score", 50),
        ("POST", "/golds", 50),
        ("GET", "/info", 3),
        ("GET", "/stats", 3),
        ("GET", "/metrics", 3),
        ("GET", "/healthz", 3),
        ("GET", "/readyz", 3),
    ],
)
def test_the_service_answers_as_documented(api: Any, method: str, path: str, examples: int) -> None:
    @given(api[path][method].as_strategy())
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    def ask(case: schemathesis.Case) -> None:
        reply = case.call_and_validate(checks=CHECKS)
        if reply.status_code != 200:
            assert {fault["path"] for fault in reply.json()["errors"]} <= {"profile", "deadline_s"}, (
                reply.text
            )

    ask()


def test_every_route_of_the_document_is_asked(api: Any) -> None:
    asked = test_the_service_answers_as_documented.pytestmark[0].args[1]  # type: ignore[attr-defined]
    offered = {(one.ok().method.upper(), one.ok().path) for one in api.get_all_operations()}
    assert offered == {(method, path) for method, path, _ in asked}


def schema_named(client: TestClient, name: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()["components"]["schemas"][name]
    return found


def test_the_body_of_a_request_is_described_by_the_model_that_decodes_it(client: TestClient) -> None:
    post = client.get("/openapi.json").json()["paths"]["/score"]["post"]
    reference = post["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    assert reference.endswith("/ScoreRequest")
    assert set(schema_named(client, "ScoreRequest")["properties"]) == set(ScoreRequest.model_fields)
    assert set(schema_named(client, "Item")["properties"]) == set(Item.model_fields)
    assert set(schema_named(client, "Result")["properties"]) == set(Result.model_fields)


def test_a_gold_is_described_in_every_shape(client: TestClient) -> None:
    shapes = json.dumps(schema_named(client, "Item")["properties"]["gold"])
    for part in ('"string"', '"integer"', '"number"', '"array"', "AnyOf", "AllOf", '"null"'):
        assert part in shapes


def test_every_reference_of_the_document_leads_somewhere(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    text = json.dumps(document)
    for part in text.split('"$ref": "')[1:]:
        reference = part.split('"')[0]
        assert reference.removeprefix("#/components/schemas/") in document["components"]["schemas"]
