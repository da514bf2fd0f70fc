"""Who may ask: one bearer key, where one is set. Then everything needs it but what is listed here."""

import hmac

from starlette.types import ASGIApp, Receive, Scope, Send

from verifier_service.server.paths import route_path
from verifier_service.server.problems import ProblemError, problem_response, request_id_of

# Probes, the scraper, and pages that show nothing but the source code's own documentation.
PUBLIC = frozenset({"/healthz", "/readyz", "/metrics", "/docs", "/openapi.json"})
PUBLIC_FOLDER = "/docs/"


class KeyGate:
    """ASGI middleware: 401 without the key. Unknown paths are no exception: deny first, route later."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._key = key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_public(scope) or self._holds_key(scope):
            await self._app(scope, receive, send)
            return
        problem = ProblemError(
            401,
            "unauthorized",
            "send the API key as `Authorization: Bearer KEY` (clients read it from VERIFIER_API_KEY)",
            headers={"WWW-Authenticate": "Bearer"},
        )
        await problem_response(problem, request_id_of(scope))(scope, receive, send)

    def _holds_key(self, scope: Scope) -> bool:
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(sent) != 1:
            return False
        scheme, _, key = sent[0].strip().partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(key.strip(), self._key)


def _is_public(scope: Scope) -> bool:
    path = route_path(scope)
    return path in PUBLIC or path.startswith(PUBLIC_FOLDER)
