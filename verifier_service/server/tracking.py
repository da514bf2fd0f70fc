"""Every request has an id, is timed, is counted, and leaves one line in the log. No text of the body does."""

import logging
import re
import time
import uuid
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from verifier_service.server.auth import holder_of
from verifier_service.server.metrics import Metrics
from verifier_service.server.paths import route_path

_SAFE_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")
# Asked for every few seconds by machines: their lines would bury the others.
QUIET = frozenset({"/healthz", "/readyz", "/metrics", "/stats"})
HANDLED_NOTHING = 499  # the sender was gone before there was a reply

log = logging.getLogger(__name__)


class Tracker:
    """ASGI middleware around everything else."""

    def __init__(self, app: ASGIApp, metrics: Metrics, routes: frozenset[str]) -> None:
        self._app = app
        self._metrics = metrics
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = request_id_from(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = request_id
        began = time.perf_counter()
        status = HANDLED_NOTHING

        async def tracked_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                headers["X-Content-Type-Options"] = "nosniff"
                for name, value in scope["state"].get("reply_headers", {}).items():
                    headers[name] = value
            await send(message)

        try:
            await self._app(scope, receive, tracked_send)
        except Exception:
            status = 500  # answered further out, with this id
            raise
        finally:
            self._note(scope, status, request_id, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, request_id: str, seconds: float) -> None:
        path = route_path(scope)
        known = path in self._routes
        self._metrics.request_ended(path if known else "other", status, seconds)
        level = logging.DEBUG if path in QUIET else logging.INFO
        shown = path if known else ascii(path[:100])
        if log.isEnabledFor(level):
            fields = {
                "request_id": request_id,
                "method": scope["method"],
                "route": path if known else "other",
                "status": status,
                "duration_ms": round(seconds * 1e3, 1),
                "key": holder_of(scope),
            }
            log.log(
                level,
                "%s %s %d %.1f ms %s",
                scope["method"],
                shown,
                status,
                seconds * 1e3,
                request_id,
                extra=fields,
            )


def add_to_reply(scope: Scope, fields: Mapping[str, str]) -> None:
    """Header fields for the reply, whatever it turns out to be."""
    if fields:
        scope.setdefault("state", {}).setdefault("reply_headers", {}).update(fields)


def request_id_from(headers: Headers) -> str:
    """The sender's id where it is safe to repeat, else that of its trace, else a new one."""
    sent = headers.get("x-request-id", "")
    if _SAFE_ID.fullmatch(sent):
        return sent
    trace = _TRACEPARENT.fullmatch(headers.get("traceparent", "")[:200])
    return trace.group(1) if trace else uuid.uuid4().hex
