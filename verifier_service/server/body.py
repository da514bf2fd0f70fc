"""Request -> bytes, within the limit, or a problem that says what to change."""

import asyncio
from collections.abc import Callable

from starlette.requests import Request

from verifier_service.server.problems import ProblemError
from verifier_service.server.settings import variable

# Of a length: what has more is larger than any body anyway.
_MOST_DIGITS = 19


async def read_body(
    request: Request, limit: int, *, within_s: float, received: Callable[[int], None]
) -> bytes:
    """The body. Refused by its declared length where there is one, else as soon as it passes the limit.

    received: told the size of each piece as it comes; what it raises ends the request.
    """
    _check_media_type(request)
    if (declared_size(request) or 0) > limit:
        raise _too_large(limit)
    try:
        async with asyncio.timeout(within_s):
            return await _joined(request, limit, received)
    except TimeoutError:
        raise _too_slow(within_s) from None


def declared_size(request: Request) -> int | None:
    """Bytes that the body is said to have, None where it is not said."""
    text = request.headers.get("content-length", "")
    return int(text[:_MOST_DIGITS]) if text.isascii() and text.isdigit() else None


async def _joined(request: Request, limit: int, received: Callable[[int], None]) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        received(len(chunk))
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


def _too_slow(within_s: float) -> ProblemError:
    setting = variable("receive_s")
    return ProblemError(
        408,
        "body-too-slow",
        f"the body did not come within {within_s:g} s; send fewer items a request, or raise {setting}",
        headers={"Connection": "close"},  # the rest of the body may still be on its way
        limit=within_s,
        setting=setting,
    )
