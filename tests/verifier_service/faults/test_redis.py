"""Redis hangs, dies, comes back, is slow, full, or talks nonsense: no item is lost, and nobody waits long."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from redis import Redis

from tests.redis_server import RedisServer, running_redis
from tests.verifier_service.faults.proxy import Proxy, proxied
from tests.verifier_service.faults.traffic import (
    READY_AGAIN_S,
    batch,
    client_of,
    crowding,
    eventually,
    is_ready,
    nulls_of,
    ready_again,
    traffic,
)
from tests.verifier_service.server.processes import served

TIMEOUT_S = 0.2
BATCHES, SIZE = 8, 32


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="module")
def proxy_and_client(
    redis: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Proxy, httpx.Client]]:
    log = tmp_path_factory.mktemp("judge") / "log"
    with (
        proxied(redis.url, late_s=TIMEOUT_S / 4) as (proxy, url),
        served(log, redis_url=url, redis_timeout_s=str(TIMEOUT_S), rate_items="10000000") as found,
        client_of(found) as client,
    ):
        yield proxy, client


@pytest.fixture
def proxy(proxy_and_client: tuple[Proxy, httpx.Client]) -> Proxy:
    return proxy_and_client[0]


@pytest.fixture
def client(proxy_and_client: tuple[Proxy, httpx.Client]) -> httpx.Client:
    return proxy_and_client[1]


def load(client: httpx.Client, phase: str) -> float:
    """Batches one after the other, none with a null; the seconds that the slowest took."""
    waits = []
    for number in range(BATCHES):
        tag = f"{phase}{number}"
        began = time.monotonic()
        assert not nulls_of(client.post("/score", json={"items": batch(tag, SIZE)}), tag, SIZE)
        waits.append(time.monotonic() - began)
    assert is_ready(client)
    return max(waits)


def written(client: httpx.Client) -> int:
    return int(client.get("/stats").json()["shared_cache"]["written"])


def is_used(client: httpx.Client) -> bool:
    """Whether Redis is, after the moment for which it is left alone when something went wrong."""

    def another_batch_is_written() -> bool:
        before = written(client)
        load(client, f"again{time.monotonic_ns()}")
        return eventually(lambda: written(client) > before, 0.5) and "verifier_redis_up 1.0" in _metrics(
            client
        )

    return eventually(another_batch_is_written, READY_AGAIN_S * crowding())


def _metrics(client: httpx.Client) -> str:
    return client.get("/metrics").text


def test_one_that_is_well_is_used(client: httpx.Client) -> None:
    assert is_used(client)


def test_one_that_hangs_and_goes_on_costs_one_wait_and_no_item(
    redis: RedisServer, client: httpx.Client
) -> None:
    redis.freeze()
    try:
        with traffic(client) as seen:
            load(client, "hung")
    finally:
        redis.thaw()
    assert not seen.nulls
    assert ready_again(client)
    assert is_used(client)


def test_one_that_is_killed_and_started_again_costs_no_item(redis: RedisServer, client: httpx.Client) -> None:
    with traffic(client) as seen:
        redis.kill()
        load(client, "dead")
        assert "verifier_redis_up 0.0" in _metrics(client)
        redis.start()
        assert ready_again(client)
        assert is_used(client)
    assert not seen.nulls


def test_one_that_is_slow_is_waited_for_no_longer_than_it_is_worth(
    proxy: Proxy, client: httpx.Client
) -> None:
    proxy.mood = "slow"
    with traffic(client) as seen:
        slowest = load(client, "slow")
    proxy.mood = "fair"
    assert not seen.nulls
    assert slowest < 10 * TIMEOUT_S
    assert is_used(client)


def test_one_that_talks_nonsense_costs_no_item(proxy: Proxy, client: httpx.Client) -> None:
    proxy.mood = "mad"
    with traffic(client) as seen:
        load(client, "mad")
    proxy.mood = "fair"
    assert not seen.nulls
    assert is_used(client)


def test_one_that_is_full_costs_no_item_and_is_used_again_when_there_is_room(
    redis: RedisServer, client: httpx.Client
) -> None:
    with Redis.from_url(redis.url) as direct:
        direct.config_set("maxmemory-policy", "noeviction")
        direct.config_set("maxmemory", "1")
        with traffic(client) as seen:
            load(client, "full")
        direct.config_set("maxmemory", "0")
    assert not seen.nulls
    assert is_used(client)


def test_one_whose_values_were_changed_by_another_gives_no_wrong_verdict(
    redis: RedisServer, client: httpx.Client, tmp_path: Path
) -> None:
    """A second replica on the same Redis reads what was spoilt, and judges by itself."""
    tag = "spoilt"
    items = batch(tag, SIZE)
    before = written(client)
    assert not nulls_of(client.post("/score", json={"items": items}), tag, SIZE)
    assert eventually(lambda: written(client) > before)
    with Redis.from_url(redis.url) as direct:
        keys = list(direct.scan_iter("verifier:1:*"))
        for key in keys:
            direct.set(key, b"garbage")
    with served(tmp_path / "log", redis_url=redis.url) as found, client_of(found) as other:
        assert not nulls_of(other.post("/score", json={"items": items}), tag, SIZE)
        assert other.get("/stats").json()["shared_cache"]["poisoned"] == SIZE
