"""One service for all tests of the commands."""

from collections.abc import Iterator

import pytest

from tests.services import running_service


@pytest.fixture(scope="package")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address; it has one worker."""
    with running_service("--workers", "1", log=tmp_path_factory.mktemp("service") / "log") as address:
        yield address
