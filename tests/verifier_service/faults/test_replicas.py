"""Two replicas and the client's own balancing, while one of them dies in mid batch; no proxy is between them."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.verifier_service.faults.traffic import (
    READY_AGAIN_S,
    batch,
    client_of,
    crowding,
    eventually,
    inflight,
)
from tests.verifier_service.server.processes import Served, served
from verifier_service.client import Client
from verifier_service.schema import ScoreResponse

SIZE = 64
SENDERS = 4


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Served, Served]]:
    with served(tmp_path / "one") as one, served(tmp_path / "two") as two:
        yield one, two


class Rollouts:
    """Threads that score batches, one after the other, by one client; every reply is checked."""

    def __init__(self, client: Client) -> None:
        self.scored = 0
        self.faults: list[BaseException] = []
        self._client = client
        self._numbers = count()
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(SENDERS)]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        while not self._over.is_set():
            tag = f"r{next(self._numbers)}"
            try:
                check(self._client.score(batch(tag, SIZE)), tag)
            except BaseException as error:  # noqa: BLE001  raised again in the test's own thread
                self.faults.append(error)
                return
            self.scored += 1

    def go_on(self) -> bool:
        """Whether they still do, or are done with it because of a fault."""
        until = self.scored + 4 * SENDERS
        return eventually(lambda: self.scored >= until or bool(self.faults), READY_AGAIN_S * crowding())

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        for fault in self.faults:
            raise fault


def check(response: ScoreResponse, tag: str) -> None:
    assert [result.id for result in response.results] == [f"{tag}-{place}" for place in range(SIZE)]
    assert [result.index for result in response.results] == list(range(SIZE))
    assert response.rewards == [float(place % 3 != 2) for place in range(SIZE)]


def test_a_replica_that_is_killed_in_mid_batch_costs_no_item_and_is_used_again_when_it_is_back(
    pair: tuple[Served, Served], tmp_path: Path
) -> None:
    one, two = pair
    with ExitStack() as stack:
        client = stack.enter_context(Client(f"{one.url},{two.url}"))
        rollouts = Rollouts(client)
        stack.callback(rollouts.end)
        assert rollouts.go_on()
        with client_of(one) as probe:
            assert eventually(lambda: inflight(probe)["items"] > 0)
        one.process.kill()
        one.process.wait()
        assert rollouts.go_on()
        port = str(urlsplit(one.url).port)
        again = stack.enter_context(served(tmp_path / "again", port=port))
        with client_of(again) as probe:
            assert eventually(
                lambda: probe.get("/stats").json()["items"].get("correct", 0) > 0, READY_AGAIN_S
            )
        assert rollouts.go_on()
        assert not rollouts.faults


def test_a_replica_that_is_told_to_stop_hands_over_without_a_loss(
    pair: tuple[Served, Served],
) -> None:
    one, two = pair
    with ExitStack() as stack:
        client = stack.enter_context(Client(f"{one.url},{two.url}"))
        rollouts = Rollouts(client)
        stack.callback(rollouts.end)
        assert rollouts.go_on()
        two.process.terminate()
        assert two.process.wait(20) == 0
        assert rollouts.go_on()
        assert not rollouts.faults
