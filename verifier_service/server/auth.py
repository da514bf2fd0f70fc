"""Who may ask: holders of a key, where there is one. Then everything needs it but what is listed here."""

from starlette.types import ASGIApp, Receive, Scope, Send

from verifier_service.server.keyring import Keyring
from verifier_service.server.paths import route_path
from verifier_service.server.problems import ProblemError, problem_response, request_id_of

# Probes, the scraper, and pages that show nothing but the source code's own documentation.
PUBLIC = frozenset({"/healthz", "/readyz", "/metrics", "/docs", "/openapi.json"})
PUBLIC_FOLDER = "/docs/"
ANYBODY = "anonymous"


class KeyGate:
    """ASGI middleware: 401 without a key. Unknown paths are no exception: deny first, route later."""

    def __init__(self, app: ASGIApp, keyring: Keyring) -> None:
        self._app = app
        self._keyring = keyring

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_public(scope):
            await self._app(scope, receive, send)
            return
        holder = self._holder(scope)
        if holder is not None:
            scope.setdefault("state", {})["key"] = holder
            await self._app(scope, receive, send)
            return
        problem = ProblemError(
            401,
            "unauthorized",
            "send the API key as `Authorization: Bearer KEY` (clients read it from VERIFIER_API_KEY)",
            headers={"WWW-Authenticate": "Bearer"},
        )
        await problem_response(problem, request_id_of(scope))(scope, receive, send)

    def _holder(self, scope: Scope) -> str | None:
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(sent) != 1:
            return None
        scheme, _, key = sent[0].strip().partition(b" ")
        return self._keyring.holder(key.strip()) if scheme.lower() == b"bearer" else None


def holder_of(scope: Scope) -> str:
    """Name of the key that opened the door to this request."""
    name = scope.get("state", {}).get("key", ANYBODY)
    return name if isinstance(name, str) else ANYBODY


def _is_public(scope: Scope) -> bool:
    path = route_path(scope)
    return path in PUBLIC or path.startswith(PUBLIC_FOLDER)
