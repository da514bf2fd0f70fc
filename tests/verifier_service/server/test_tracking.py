"""Request ids in and out, and a log that tells no secrets."""

import json
import logging
import re

import pytest
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from verifier_service.server.logs import TEXT, JsonLines, TextLines
from verifier_service.server.tracking import request_id_from

TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.parametrize("sent", ["run7-step12-rank0", "a", "A.b_c:d/e+f=g@h", "x" * 128])
def test_a_safe_id_comes_back(client: TestClient, sent: str) -> None:
    assert client.get("/healthz", headers={"X-Request-Id": sent}).headers["x-request-id"] == sent


@pytest.mark.parametrize("sent", ["", " ", "x" * 129, "a b", "a\tb", 'a"b', "<script>", "a,b", "a%0ab"])
def test_an_unsafe_id_is_replaced(client: TestClient, sent: str) -> None:
    answered = client.get("/healthz", headers={"X-Request-Id": sent}).headers["x-request-id"]
    assert answered != sent
    assert len(answered) == 32


def test_an_id_is_made_where_none_is_sent_and_never_twice(client: TestClient) -> None:
    made = {client.get("/healthz").headers["x-request-id"] for _ in range(10)}
    assert len(made) == 10


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}, TRACE),
        ({"traceparent": f"01-{TRACE}-b7ad6b7169203331-01-more"}, TRACE),
        ({"traceparent": f"00-{TRACE}-b7ad6b7169203331-01", "x-request-id": "mine"}, "mine"),
    ],
)
def test_the_id_of_a_trace_serves_as_well(headers: dict[str, str], expected: str) -> None:
    assert request_id_from(Headers(headers)) == expected
    assert request_id_from(Headers({"traceparent": TRACE})) != TRACE


def test_the_log_names_the_request_and_not_its_texts(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        item = {"completion": "a secret thought", "gold": "5", "id": "row-17"}
        client.post("/score?profile=r1-zero", json={"items": [item, 5]}, headers={"X-Request-Id": "run7"})
        client.get("/no%0asuch%1b[31mroute")
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("verifier_service")]
    assert any("POST /score 200" in line and "run7" in line for line in lines)
    assert "secret" not in "".join(lines)
    assert all("\n" not in line for line in lines)


def test_replies_are_not_to_be_guessed_at(client: TestClient) -> None:
    assert client.get("/info").headers["x-content-type-options"] == "nosniff"


def test_a_line_of_json_has_the_fields_of_the_request_and_holds_on_one_line(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        item = {"completion": "a secret thought", "gold": "5"}
        client.post("/score", json={"items": [item]}, headers={"X-Request-Id": "run7"})
        client.get("/no%0asuch%1b[31mroute")
    lines = [JsonLines().format(record) for record in caplog.records if record.name.endswith("tracking")]
    assert all("\n" not in line and line.isascii() and "secret" not in line for line in lines)
    first, second = map(json.loads, lines)
    assert {name: first[name] for name in ("level", "request_id", "method", "route", "status", "key")} == {
        "level": "info",
        "request_id": "run7",
        "method": "POST",
        "route": "/score",
        "status": 200,
        "key": "anonymous",
    }
    assert first["duration_ms"] >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["time"])
    assert (second["route"], second["status"]) == ("other", 404)


def test_a_line_of_text_is_one_line_whatever_is_in_it() -> None:
    record = logging.LogRecord("x", logging.ERROR, "", 0, "bad %s", ("a\nERROR forged\x1b[2J\r\x9b",), None)
    assert TextLines(TEXT).format(record).endswith(r"ERROR x: bad a\x0aERROR forged\x1b[2J\x0d\x9b")
