"""Spans: one for each request, on the sender's trace, with counts and without texts."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from tests.services import free_port
from tests.verifier_service.server.fakes import FakeBackend
from tests.verifier_service.server.processes import served
from verifier_service.server import tracing
from verifier_service.server.app import create_app
from verifier_service.server.settings import Settings

pytest.importorskip("opentelemetry.sdk", reason="the extra [otel] is not installed")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET = "a secret thought"
ITEMS = [
    {"completion": f"{SECRET} 5", "gold": "5"},
    {"completion": f"{SECRET} 6", "gold": "5"},
    [SECRET],
]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """What the apps of this test send."""
    exporter = InMemorySpanExporter()

    def provider() -> TracerProvider:
        made = TracerProvider(shutdown_on_exit=False)
        made.add_span_processor(SimpleSpanProcessor(exporter))
        return made

    monkeypatch.setattr("verifier_service.server.app.tracing_provider", provider)
    return exporter


@pytest.fixture
def client(spans: InMemorySpanExporter, backend: FakeBackend) -> Iterator[TestClient]:
    app = create_app(Settings(root_path="/judge"), backend=backend)
    with TestClient(app, raise_server_exceptions=False) as found:
        yield found


def only(spans: InMemorySpanExporter) -> ReadableSpan:
    (span,) = spans.get_finished_spans()
    return span


def test_a_request_is_one_span_with_counts(client: TestClient, spans: InMemorySpanExporter) -> None:
    client.post("/score?profile=r1-zero", json={"items": ITEMS}, headers={"X-Request-Id": "run7"})
    span = only(spans)
    assert span.name == "POST /score"
    assert span.kind == SpanKind.SERVER
    assert span.status.status_code == StatusCode.UNSET
    assert dict(span.attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/score",
        "http.response.status_code": 200,
        "verifier.request_id": "run7",
        "verifier.profile": "r1-zero",
        "verifier.items": 3,
        "verifier.nulls": 1,
        "verifier.cached": 0,
        "verifier.verdicts.correct": 1,
        "verifier.verdicts.incorrect": 1,
    }


def test_the_span_joins_the_trace_of_its_sender(client: TestClient, spans: InMemorySpanExporter) -> None:
    reply = client.post("/score", json={"items": ITEMS}, headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
    span = only(spans)
    assert span.context is not None
    assert span.parent is not None
    assert f"{span.context.trace_id:032x}" == TRACE == reply.headers["x-request-id"]
    assert f"{span.parent.span_id:016x}" == PARENT


def test_a_trace_that_is_not_sampled_stays_so(client: TestClient, spans: InMemorySpanExporter) -> None:
    client.get("/info", headers={"traceparent": f"00-{TRACE}-{PARENT}-00"})
    assert not spans.get_finished_spans()


@pytest.mark.parametrize("sent", ["", "garbage", f"00-{'0' * 32}-{PARENT}-01", f"zz-{TRACE}-{PARENT}-01"])
def test_a_trace_that_is_none_is_begun_anew(
    client: TestClient, spans: InMemorySpanExporter, sent: str
) -> None:
    client.get("/info", headers={"traceparent": sent})
    span = only(spans)
    assert span.parent is None


def test_no_text_is_ever_in_a_span(
    client: TestClient, spans: InMemorySpanExporter, backend: FakeBackend
) -> None:
    client.post("/score", json={"items": ITEMS})
    client.post(f"/score?profile={SECRET}", json={"items": ITEMS})
    client.get(f"/{SECRET}")
    client.post("/get_reward", json={"query": [SECRET], "prompts": [""], "labels": ["5"]})
    client.post("/score", content=SECRET.encode(), headers={"content-type": "application/json"})
    backend.fault = ValueError(SECRET)
    client.post("/score", json={"items": ITEMS})
    found = spans.get_finished_spans()
    assert len(found) == 6
    written = "".join(span.to_json() for span in found)
    assert "secret" not in written
    assert "ValueError" in written


def test_a_fault_is_an_error_of_its_kind(
    client: TestClient, spans: InMemorySpanExporter, backend: FakeBackend
) -> None:
    backend.fault = KeyError("x")
    assert client.post("/score", json={"items": ITEMS}).status_code == 500
    span = only(spans)
    assert span.attributes is not None
    assert (span.attributes["http.response.status_code"], span.attributes["error.type"]) == (500, "KeyError")
    assert span.status.status_code == StatusCode.ERROR
    assert not span.events


def test_names_do_not_grow_with_what_is_sent(client: TestClient, spans: InMemorySpanExporter) -> None:
    client.request("MADEUP", "/made/up")
    client.get("/judge/info")
    assert [span.name for span in spans.get_finished_spans()] == ["_OTHER other", "GET /info"]


def test_probes_leave_no_spans(client: TestClient, spans: InMemorySpanExporter) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/stats"):
        client.get(path)
    assert not spans.get_finished_spans()


def test_it_is_off_unless_an_address_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in tracing.ADDRESSES:
        monkeypatch.delenv(name, raising=False)
    assert tracing.tracing_provider() is None
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert tracing.tracing_provider() is None


def test_without_the_extra_the_service_says_so_and_works(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, backend: FakeBackend
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with TestClient(create_app(Settings(), backend=backend)) as client:
        assert client.get("/info").status_code == 200
    assert "verifier-service[otel]" in caplog.text


@contextmanager
def collector(bodies: list[bytes]) -> Iterator[str]:
    """Takes what an exporter sends to /v1/traces."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_service_sends_its_spans_before_it_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    bodies: list[bytes] = []
    with collector(bodies) as address:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        with served(tmp_path / "log") as service:
            httpx.post(f"{service.url}/score", json={"items": ITEMS}, trust_env=False).raise_for_status()
    (resource,) = [
        resource for body in bodies for resource in ExportTraceServiceRequest.FromString(body).resource_spans
    ]
    about = {entry.key: entry.value.string_value for entry in resource.resource.attributes}
    assert about["service.name"] == "verifier"
    (span,) = [span for scope in resource.scope_spans for span in scope.spans]
    numbers = {entry.key: entry.value.int_value for entry in span.attributes}
    assert (span.name, numbers["verifier.items"], numbers["verifier.nulls"]) == ("POST /score", 3, 1)
    assert all(SECRET.encode() not in body for body in bodies)


def test_a_collector_that_is_gone_holds_up_neither_requests_nor_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    with served(tmp_path / "log") as service:
        for _ in range(3):
            httpx.post(f"{service.url}/score", json={"items": ITEMS}, trust_env=False).raise_for_status()
        began = time.monotonic()
        service.process.terminate()
        assert service.process.wait(10) == 0
        assert time.monotonic() - began < tracing.LAST_SPANS_S + 3


def test_the_last_spans_have_their_time_and_no_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tracing, "LAST_SPANS_S", 0.05)
    released = threading.Event()

    class Stuck:
        @staticmethod
        def shutdown() -> None:
            released.wait(10)

    began = time.monotonic()
    tracing.send_last_spans(Stuck())  # type: ignore[arg-type]
    assert time.monotonic() - began < 5
    released.set()
    assert "could not be sent" in caplog.text
