"""The page at /docs: complete without internet, and under any prefix."""

import re

import pytest
from starlette.testclient import TestClient


def test_the_page_loads_only_what_is_served_beside_it(client: TestClient) -> None:
    page = client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    loaded = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    assert len(loaded) >= 4
    for address in loaded:
        if address == "data:,":
            continue
        # Relative, so that a prefix does no harm; and there.
        assert not address.startswith(("/", "http")), address
        assert client.get(f"/{address}").status_code == 200, address


def test_the_page_shows_the_document_of_this_service(client: TestClient) -> None:
    assert 'url: "openapi.json"' in client.get("/docs/page.js").text


def test_the_policy_of_the_page_forbids_everything_from_elsewhere(client: TestClient) -> None:
    policy = client.get("/docs").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "http" not in policy
    assert "<script>" not in client.get("/docs").text


@pytest.mark.parametrize(
    ("path", "media_type"), [("swagger-ui-bundle.js", "text/javascript"), ("swagger-ui.css", "text/css")]
)
def test_the_assets_come_under_their_types(client: TestClient, path: str, media_type: str) -> None:
    reply = client.get(f"/docs/{path}")
    assert reply.headers["content-type"].startswith(media_type)
    assert len(reply.content) > 100_000


def test_with_a_slash_too_many_the_page_is_found(client: TestClient) -> None:
    reply = client.get("/docs/", follow_redirects=False)
    assert (reply.status_code, reply.headers["location"]) == (307, "../docs")
