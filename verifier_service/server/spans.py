"""One span for each request: its route, its status, its id, and counts. Never a text.

OpenTelemetry's instrumentation of ASGI, and that of FastAPI itself, put the query and the messages of
exceptions into their spans, and both may quote model text; so the span is made here, through its API.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager

from opentelemetry.context import Context
from opentelemetry.propagate import extract
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from verifier_service.schema import ScoreResponse
from verifier_service.server.paths import route_path
from verifier_service.server.tracking import HANDLED_NOTHING, QUIET

# A method is whatever the sender writes; names of spans must not grow with it.
METHODS = frozenset({"GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Traced:
    """ASGI middleware around the tracker. Where the sender names a trace (`traceparent`), the span joins it."""

    def __init__(self, app: ASGIApp, tracer: Tracer, routes: frozenset[str]) -> None:
        self._app = app
        self._tracer = tracer
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or route_path(scope) in QUIET:
            await self._app(scope, receive, send)
            return
        status = HANDLED_NOTHING

        async def traced_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._span(scope) as span:
            try:
                await self._app(scope, receive, traced_send)
            except Exception as error:
                status = 500  # answered further out
                span.set_attribute("error.type", type(error).__name__)
                raise
            finally:
                _end(span, scope, status)

    def _span(self, scope: Scope) -> AbstractContextManager[Span]:
        path = route_path(scope)
        route = path if path in self._routes else "other"
        method = scope["method"] if scope["method"] in METHODS else "_OTHER"
        span: AbstractContextManager[Span] = self._tracer.start_as_current_span(
            f"{method} {route}",
            context=_sender(scope),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method, "http.route": route},
            record_exception=False,
            set_status_on_exception=False,
        )
        return span


def counts(response: ScoreResponse) -> Mapping[str, int | str]:
    """What a span says about a batch."""
    verdicts = Counter(result.verdict for result in response.results if result.verdict is not None)
    return {
        "verifier.profile": response.profile,
        "verifier.items": len(response.results),
        "verifier.nulls": response.errors,
        "verifier.cached": sum(result.cached for result in response.results),
        **{f"verifier.verdicts.{verdict}": count for verdict, count in verdicts.items()},
    }


def _sender(scope: Scope) -> Context:
    context: Context = extract(
        {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    )
    return context


def _end(span: Span, scope: Scope, status: int) -> None:
    state = scope.get("state", {})
    span.set_attribute("http.response.status_code", status)
    span.set_attribute("verifier.request_id", state.get("request_id", ""))
    if "scored" in state:
        span.set_attributes(counts(state["scored"]))
    if status >= 500:
        span.set_status(StatusCode.ERROR)
