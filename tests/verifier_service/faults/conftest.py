"""A service whose workers can be made to misbehave."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.verifier_service.faults.traffic import client_of
from tests.verifier_service.server.processes import Served, served

HERE = Path(__file__).parent
RECEIVE_S = 2  # of the shared service: how long a body may take


@pytest.fixture(scope="session")
def saboteur(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that offers the misbehaving reward as an installed package does."""
    folder = tmp_path_factory.mktemp("saboteur")
    info = folder / "saboteur-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: saboteur\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[verifier_service.rewards]\nsaboteur = saboteur:misbehave\n")
    shutil.copy(HERE / "saboteur.py", folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def with_saboteur(saboteur: Path) -> Iterator[None]:
    """Services that these tests start know the misbehaving reward."""
    with _offered(saboteur):
        yield


@contextmanager
def _offered(saboteur: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(saboteur), prepend=":")
        yield


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory, saboteur: Path) -> Iterator[Served]:
    """One service for many tests: each leaves it as ready as it was."""
    log = tmp_path_factory.mktemp("judge") / "log"
    settings = {"workers": "2", "item_cpu_s": "0.3", "memory_mb": "512", "receive_s": str(RECEIVE_S)}
    with _offered(saboteur), served(log, **settings) as found:
        yield found


@pytest.fixture
def client(judge: Served) -> Iterator[httpx.Client]:
    with client_of(judge) as client:
        yield client
