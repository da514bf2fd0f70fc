"""One key, where one is set: then everything needs it but the probes and the docs."""

import pytest

from tests.verifier_service.server.fakes import FakeBackend, Started

KEY = "s3cret-key"


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Bearer {KEY}x",
        f"Bearer {KEY[:-1]}",
        f"Basic {KEY}",
        KEY,
        "Bearer caf\xe9",
    ],
)
def test_without_the_key_nothing_is_scored(
    started: Started, backend: FakeBackend, header: str | None
) -> None:
    headers = {} if header is None else {"Authorization": header.encode("latin-1")}
    reply = started(api_key=KEY).post("/score", json={"items": []}, headers=headers)
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == "Bearer"
    assert reply.json()["type"] == "urn:verifier-service:problem:unauthorized"
    assert reply.json()["request_id"] == reply.headers["x-request-id"]
    assert not backend.asked


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_with_the_key_it_is(started: Started, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} {KEY}"}
    assert started(api_key=KEY).post("/score", json={"items": []}, headers=headers).status_code == 200


def test_two_keys_are_none(started: Started) -> None:
    headers = [("Authorization", f"Bearer {KEY}"), ("Authorization", "Bearer other")]
    assert started(api_key=KEY).get("/info", headers=headers).status_code == 401


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/metrics", "/docs", "/docs/page.js", "/openapi.json"]
)
def test_probes_and_docs_need_no_key(started: Started, path: str) -> None:
    assert started(api_key=KEY).get(path).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/info",
        "/stats",
        "/nothing",
        "/",
        "//healthz",
        "/healthz/",
        "/healthz/../info",
        "/HEALTHZ",
        "/docs/../info",
    ],
)
def test_everything_else_needs_it_even_what_is_not_there(started: Started, path: str) -> None:
    client = started(api_key=KEY)
    # The address as it is: a client would tidy it up.
    reply = client.request("GET", client.base_url.copy_with(raw_path=path.encode()))
    assert reply.status_code == 401 or (path.startswith("/docs/") and reply.status_code == 404)


def test_a_blank_key_is_no_key(started: Started) -> None:
    assert started(api_key="").post("/score", json={"items": []}).status_code == 200
    assert started(api_key="  ").post("/score", json={"items": []}).status_code == 200
