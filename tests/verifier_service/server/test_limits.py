"""Quotas per key: the arithmetic, in memory and in a real Redis, and what is told to whom."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from starlette.testclient import TestClient

from tests.redis_server import RedisServer, impostor, running_redis
from tests.verifier_service.server.fakes import FakeBackend, Started
from verifier_service.keyfile import Key, digest_of, write_keys
from verifier_service.redis_link import RedisLink
from verifier_service.server.limits import Buckets, Limiter, OnFailure, Quota
from verifier_service.server.problems import ProblemError

QUOTAS = [Quota("items", 600, "rate_items"), Quota("bytes", 6000, "rate_mb", "content-bytes")]
ITEM = {"completion": "5", "gold": "5"}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with running_redis(tmp_path) as server:
        yield server


def test_a_bucket_is_full_at_first_and_fills_again_with_time(clock: Clock) -> None:
    buckets = Buckets(QUOTAS, clock=clock)
    assert buckets.take("a", (100, 0)).left == (500, 6000)
    clock.now += 5
    assert buckets.take("a", (0, 0)).left == (550, 6000)
    clock.now += 3600
    assert buckets.take("a", (0, 0)).left == (600, 6000)


def test_whoever_has_anything_left_is_let_through_whole_and_then_waits_for_the_debt(clock: Clock) -> None:
    buckets = Buckets(QUOTAS, clock=clock)
    assert buckets.take("a", (599, 0)).allowed
    taken = buckets.take("a", (512, 0))
    assert (taken.allowed, taken.left[0]) == (True, -511)
    assert not buckets.take("a", (1, 0)).allowed
    clock.now += 51  # 510 of 511
    assert not buckets.take("a", (1, 0)).allowed
    clock.now += 0.2
    assert buckets.take("a", (1, 0)).allowed


def test_each_quota_binds_and_each_key_has_its_own(clock: Clock) -> None:
    buckets = Buckets(QUOTAS, clock=clock)
    assert buckets.take("a", (1, 6000)).allowed
    refused = buckets.take("a", (1, 1))
    assert (refused.allowed, refused.left) == (False, (599, 0))  # who is refused pays nothing
    assert buckets.take("b", (1, 1)).allowed


def test_a_clock_that_jumps_back_gives_and_takes_nothing(clock: Clock) -> None:
    buckets = Buckets(QUOTAS, clock=clock)
    buckets.take("a", (100, 0))
    clock.now -= 500
    assert buckets.take("a", (0, 0)).left == (500, 6000)


def test_over_an_hour_nobody_gets_more_than_the_quota_and_one_request(clock: Clock) -> None:
    buckets = Buckets(QUOTAS, clock=clock)
    got = 0
    for _ in range(3600 * 4):
        got += 512 if buckets.take("a", (512, 0)).allowed else 0
        clock.now += 0.25
    assert 600 * 60 <= got <= 600 * 61 + 512


def with_limiter(
    url: str,
    body: Callable[[Limiter, Clock], Awaitable[Any]],
    on_failure: OnFailure = "fail_open",
    timeout_s: float = 0.2,
) -> Any:
    async def whole() -> Any:
        clock = Clock()
        limiter = Limiter(QUOTAS, RedisLink(url, timeout_s, clock=clock), on_failure, clock=clock)
        try:
            return await body(limiter, clock)
        finally:
            await limiter.close()

    return asyncio.run(whole())


async def refusal(limiter: Limiter, key: str, items: int, size: int = 0) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        await limiter.charge(key, items=items, size=size)
    return caught.value


def test_in_redis_the_arithmetic_is_the_same_and_replicas_share_it(redis: RedisServer) -> None:
    async def body(limiter: Limiter, clock: Clock) -> None:
        other = Limiter(QUOTAS, RedisLink(redis.url, 10), "fail_open")
        fields = await limiter.charge("a", items=100, size=1000)
        assert fields["RateLimit"] == '"items";r=500;t=10, "bytes";r=5000;t=10'
        fields = await other.charge("a", items=511, size=0)
        assert fields["RateLimit"].startswith('"items";r=0;')
        refused = await refusal(limiter, "a", 1)
        assert refused.status == 429
        assert refused.extra == {"violated-policies": ["items"]}
        assert re.search(r"ask again in \d+ s, or raise VERIFIER_RATE_ITEMS$", refused.detail)
        assert (await limiter.charge("b", items=1, size=0))["RateLimit"].startswith('"items";r=599;')
        await other.close()

    with_limiter(redis.url, body, timeout_s=10)


def test_in_redis_many_at_once_get_no_more_than_there_is(redis: RedisServer) -> None:
    async def body(limiter: Limiter, clock: Clock) -> int:
        asked = [limiter.charge("a", items=60, size=0) for _ in range(200)]
        replies = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(reply, dict | ProblemError) for reply in replies)
        return sum(isinstance(reply, dict) for reply in replies)

    assert 10 <= with_limiter(redis.url, body, timeout_s=10) <= 11


def test_without_redis_each_replica_limits_by_itself_and_says_so(redis: RedisServer) -> None:
    async def body(limiter: Limiter, clock: Clock) -> None:
        await limiter.charge("a", items=1, size=0)
        redis.kill()
        fields = await limiter.charge("a", items=700, size=0)
        assert fields["X-RateLimit-Degraded"] == "redis"
        refused = await refusal(limiter, "a", 1)
        assert refused.status == 429
        assert limiter.stats.degraded == 2
        redis.start()
        clock.now += 60
        assert "X-RateLimit-Degraded" not in await limiter.charge("a", items=1, size=0)

    with_limiter(redis.url, body)


def test_without_redis_it_fails_closed_where_told_to(redis: RedisServer) -> None:
    async def body(limiter: Limiter, clock: Clock) -> None:
        redis.freeze()
        for _ in range(3):
            refused = await refusal(limiter, "a", 1)
            assert (refused.status, refused.name) == (503, "limiter-unavailable")
            assert refused.headers is not None
            assert int(refused.headers["Retry-After"]) >= 1
        assert limiter.stats.unavailable == 3
        redis.thaw()
        clock.now += 5
        assert await limiter.charge("a", items=1, size=0)

    with_limiter(redis.url, body, "fail_closed")


FINE = b"*3\r\n:1\r\n:599\r\n:6000"


@pytest.mark.parametrize(
    "reply",
    [FINE, b":1", b"$-1", b"*0", b"*2\r\n:1\r\n:1", b"*3\r\n:1\r\n$3\r\nnan\r\n:1", b"*3\r\n:1\r\n*0\r\n:1"],
)
def test_an_answer_that_no_redis_gives_is_none(reply: bytes) -> None:
    async def body() -> dict[str, str]:
        async with impostor(reply) as url:
            clock = Clock()
            limiter = Limiter(QUOTAS, RedisLink(url, 1, clock=clock), "fail_open", clock=clock)
            fields = await limiter.charge("a", items=1, size=0)
            await limiter.close()
        return fields

    fields = asyncio.run(body())
    assert ("X-RateLimit-Degraded" in fields) == (reply != FINE)
    assert fields["RateLimit"].startswith('"items";r=599;')


def test_a_balance_that_is_no_number_is_a_full_one(redis: RedisServer) -> None:
    async def body(limiter: Limiter, clock: Clock) -> None:
        await limiter.charge("a", items=500, size=0)
        with Redis.from_url(redis.url) as writer:
            for key in writer.scan_iter():
                writer.hset(key, mapping={"items": "many", "at": "noon"})
        fields = await limiter.charge("a", items=1, size=0)
        assert fields["RateLimit"].startswith('"items";r=599;')
        assert "X-RateLimit-Degraded" not in fields

    with_limiter(redis.url, body, timeout_s=10)


def test_a_limiter_without_quotas_says_nothing(clock: Clock) -> None:
    limiter = Limiter([Quota("items", 0, "rate_items")], None, "fail_open", clock=clock)
    assert asyncio.run(limiter.charge("a", items=10**9, size=0)) == {}


def test_a_refused_key_is_told_when_to_ask_again_and_is_not_read_before(
    started: Started, backend: FakeBackend
) -> None:
    client = started(rate_items=5)
    reply = client.post("/score", json={"items": [ITEM] * 6})
    assert reply.status_code == 200
    assert reply.headers["ratelimit-policy"] == '"items";q=5;w=60'
    assert reply.headers["ratelimit"] == '"items";r=0;t=72'
    for content in (b'{"items": []}', b"no json, and nobody looks at it"):
        reply = client.post("/score", content=content)
        assert reply.status_code == 429
        assert reply.json()["type"].endswith(":quota-exceeded")
        assert reply.json()["violated-policies"] == ["items"]
        wait = int(reply.headers["retry-after"])
        assert 11 <= wait <= 13
        assert reply.headers["ratelimit"] == f'"items";r=0;t={wait}'
    assert len(backend.asked) == 1
    assert 'verifier_refused_total{reason="quota-exceeded"} 2.0' in client.get("/metrics").text


def test_golds_count_too_and_bytes_have_their_own_quota(started: Started) -> None:
    client = started(rate_items=5, rate_mb=1)
    reply = client.post("/golds", json={"golds": [{"gold": 1}]})
    assert reply.headers["ratelimit"].startswith('"items";r=4;')
    reply = client.post("/score", json={"items": [{**ITEM, "completion": "5" * 1_100_000}]})
    assert '"bytes";r=0;' in reply.headers["ratelimit"]
    assert client.post("/score", json={"items": []}).json()["violated-policies"] == ["bytes"]


def test_keys_do_not_pay_for_one_another(started: Started, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    write_keys(file, [Key(name, digest_of(name.encode())) for name in ("alice", "bob")])
    client = started(rate_items=5, keys_file=file)
    assert [asked(client, key) for key in ("alice", "alice", "bob", "alice", "bob")] == [
        200,
        429,
        200,
        429,
        429,
    ]


def asked(client: TestClient, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    return client.post("/score", json={"items": [ITEM] * 6}, headers=headers).status_code
