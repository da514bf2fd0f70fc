"""The service whose workers can be made to misbehave, with secrets in its environment."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.verifier_service.faults.conftest import saboteur as saboteur
from tests.verifier_service.faults.traffic import client_of
from tests.verifier_service.server.processes import Served, served

KEY = "vk_a-key-that-only-the-service-should-know"
SECRETS = {
    "HF_TOKEN": "hf_not-for-workers",
    "AWS_SECRET_ACCESS_KEY": "not-for-workers",
    "DATABASE_URL": "postgres://user:not-for-workers@db/x",
}


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory, saboteur: Path) -> Iterator[Served]:
    """It wants a key, logs JSON, and kills soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(saboteur), prepend=":")
        patch.setenv("REWARD_TABLE", "kept")
        for name, value in SECRETS.items():
            patch.setenv(name, value)
        log = tmp_path_factory.mktemp("guarded") / "log"
        with served(log, api_key=KEY, log_format="json", item_cpu_s="0.5") as found:
            yield found


@pytest.fixture
def holder(guarded: Served) -> Iterator[httpx.Client]:
    """A client that has the key."""
    with client_of(guarded) as client:
        client.headers["Authorization"] = f"Bearer {KEY}"
        yield client
