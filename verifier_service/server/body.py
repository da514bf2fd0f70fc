"""Request -> bytes, within the limit, or a problem that says what to change."""

from starlette.requests import Request

from verifier_service.server.problems import ProblemError
from verifier_service.server.settings import variable


async def read_body(request: Request, limit: int) -> bytes:
    """The body. Refused by its declared length where there is one, else as soon as it passes the limit."""
    _check_media_type(request)
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and (len(declared) > 18 or int(declared) > limit):
        raise _too_large(limit)
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        chunks.append(chunk)
    return b"".join(chunks)


def _check_media_type(request: Request) -> None:
    """JSON under any of its names, or no name at all: many a bare HTTP client sends none."""
    essence = request.headers.get("content-type", "").split(";", 1)[0].strip().lower()
    if essence and essence != "application/json" and not _is_json_suffixed(essence):
        raise ProblemError(
            415,
            "unsupported-media-type",
            f"the body should be sent as application/json, not {essence[:100]}"
            " (curl: -H 'Content-Type: application/json')",
            headers={"Accept-Post": "application/json"},
        )
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        raise ProblemError(
            415,
            "unsupported-media-type",
            f"the body should be sent uncompressed, not as {encoding[:100]}",
            headers={"Accept-Encoding": "identity"},
        )


def _is_json_suffixed(essence: str) -> bool:
    kind, _, name = essence.partition("/")
    return bool(kind) and len(name) > len("+json") and name.endswith("+json")


def _too_large(limit: int) -> ProblemError:
    setting = variable("max_body_bytes")
    return ProblemError(
        413,
        "body-too-large",
        f"the body is larger than {limit} bytes; send fewer items a request, or raise {setting}",
        limit=limit,
        setting=setting,
    )
