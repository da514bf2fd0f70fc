"""An app with a fake judge behind it, and a client that speaks to it without a socket."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.verifier_service.server.fakes import FakeBackend, Started
from tests.verifier_service.server.processes import Served, served
from verifier_service.server.app import create_app
from verifier_service.server.settings import Settings


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def started(backend: FakeBackend) -> Iterator[Started]:
    """Starts an app with these settings on the fake judge; the client is its sender."""
    with ExitStack() as stack:

        def start(**settings: Any) -> TestClient:
            app = create_app(Settings(**settings), backend=backend)
            return stack.enter_context(TestClient(app, raise_server_exceptions=False))

        yield start


@pytest.fixture
def client(started: Started) -> TestClient:
    return started()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A real service, with real workers, shared by the tests that only ask."""
    with served(tmp_path_factory.mktemp("service") / "log") as found:
        yield found
