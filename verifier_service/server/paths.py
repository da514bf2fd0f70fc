"""Paths below the prefix under which a proxy publishes the service."""

from starlette.types import ASGIApp, Receive, Scope, Send


class Prefixed:
    """ASGI middleware: tells the rest the prefix, whether the proxy strips it or not."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["root_path"] = self._prefix
        await self._app(scope, receive, send)


def route_path(scope: Scope) -> str:
    """The path without the prefix."""
    path: str = scope["path"]
    prefix: str = scope.get("root_path", "")
    return path.removeprefix(prefix) if prefix and path.startswith(f"{prefix}/") else path
