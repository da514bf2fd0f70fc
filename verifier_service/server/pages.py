"""The page at /docs and the files it loads: all from this package, so that it works without internet."""

from functools import cache
from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from verifier_service.server.problems import ProblemError

# Swagger UI sets styles from its script, and draws its icons from data: addresses in its style sheet.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FILES = {
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
    "swagger-ui-bundle.js": ("vendor/swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
    "swagger-ui.css": ("vendor/swagger-ui.css", "text/css; charset=utf-8"),
}
router = APIRouter(include_in_schema=False)


@cache
def _content(path: str) -> bytes:
    return files("verifier_service.server").joinpath("docs_page", path).read_bytes()


@router.get("/docs")
async def docs() -> Response:
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
    return Response(_content("index.html"), media_type="text/html; charset=utf-8", headers=headers)


@router.get("/docs/")
async def docs_with_a_slash() -> Response:
    """Its relative addresses would miss by one folder here."""
    return RedirectResponse("../docs")


@router.get("/docs/{name}")
async def docs_file(name: str) -> Response:
    if name not in _FILES:
        raise ProblemError(404, "not-found", "the page at /docs has no such file")
    path, media_type = _FILES[name]
    return Response(_content(path), media_type=media_type, headers={"Cache-Control": "max-age=3600"})
