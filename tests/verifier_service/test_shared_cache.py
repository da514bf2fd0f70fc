"""Judgements in a real Redis, and what becomes of requests when it is slow, gone, full, or lies."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redis_server import RedisServer, impostor, running_redis
from verifier_service.equivalence.slow_path import Symbolic
from verifier_service.judge import Judgement
from verifier_service.redis_link import RedisGone, RedisLink
from verifier_service.shared_cache import (
    CHECKSUM_BYTES,
    JUDGEMENTS,
    PREFIX,
    SLOW_VERDICTS,
    SharedCache,
    packed,
    unpacked,
)

RIGHT = Judgement(
    1.0, {"accuracy": 1.0}, {"accuracy": 1.0, "x": None}, "correct", "5\ud7ff", "exact", "equal"
)
NULL = Judgement(
    None, {}, {"accuracy": None}, None, None, None, "", ("w",), "unverifiable_gold", "cannot be read"
)
TIMEOUT_S = 0.5


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with running_redis(tmp_path) as server:
        yield server


class Bench:
    """A cache on this Redis with a clock that the test moves."""

    def __init__(self, url: str, engine: str = "e1") -> None:
        self.now = 0.0
        self.links = [RedisLink(url, TIMEOUT_S, clock=lambda: self.now) for _ in range(2)]
        self.cache = SharedCache(self.links[0], self.links[1], JUDGEMENTS, engine=engine, ttl_s=60)

    async def kept(self, *numbers: int) -> None:
        for number in numbers:
            self.cache.put(key(number), replace(RIGHT, elapsed_ms=float(number)))
        writer = self.cache._writer
        if writer is not None:
            await asyncio.wait([writer])

    async def found(self, *numbers: int) -> list[float | None]:
        judgements = await self.cache.get_many([key(number) for number in numbers])
        return [None if judgement is None else judgement.elapsed_ms for judgement in judgements]


def on(url: str, body: Callable[[Bench], Awaitable[Any]]) -> Any:
    async def whole() -> Any:
        bench = Bench(url)
        try:
            return await body(bench)
        finally:
            await bench.cache.close()

    return asyncio.run(whole())


@pytest.mark.parametrize("judgement", [RIGHT, NULL])
def test_a_judgement_comes_back_as_it_was(judgement: Judgement) -> None:
    assert unpacked(b"name", packed(b"name", judgement, JUDGEMENTS), JUDGEMENTS) == judgement


@given(st.data())
def test_a_value_that_was_changed_in_any_byte_or_cut_is_a_miss(data: st.DataObject) -> None:
    whole = packed(b"name", RIGHT, JUDGEMENTS)
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[place] ^= data.draw(st.integers(1, 255))
    assert unpacked(b"name", bytes(changed), JUDGEMENTS) is None
    assert unpacked(b"name", whole[:place], JUDGEMENTS) is None


@given(st.binary())
def test_garbage_is_a_miss(data: bytes) -> None:
    assert unpacked(b"name", data, JUDGEMENTS) is None


def test_a_value_that_was_moved_to_another_key_is_a_miss() -> None:
    assert unpacked(b"other", packed(b"name", RIGHT, JUDGEMENTS), JUDGEMENTS) is None


@pytest.mark.parametrize(
    "unsound",
    [
        replace(RIGHT, reward=float("inf")),
        replace(RIGHT, components={"accuracy": float("nan")}),
        replace(RIGHT, verdict="splendid"),
        replace(RIGHT, reward=None),
        replace(NULL, reward=0.0),
    ],
)
def test_what_no_judge_would_say_is_a_miss_even_if_it_is_well_packed(unsound: Judgement) -> None:
    assert unpacked(b"name", packed(b"name", unsound, JUDGEMENTS), JUDGEMENTS) is None


@pytest.mark.parametrize("equal", [True, False, None])
def test_an_answer_of_sympy_comes_back_as_it_was_and_a_word_of_the_clock_is_none(equal: bool | None) -> None:
    for reason in ("the sides agree", "answer_timeout"):
        answer = Symbolic(equal, reason)
        found = unpacked(b"name", packed(b"name", answer, SLOW_VERDICTS), SLOW_VERDICTS)
        assert found == (answer if reason != "answer_timeout" else None)
    assert unpacked(b"name", packed(b"name", RIGHT, JUDGEMENTS), SLOW_VERDICTS) is None


def test_another_replica_finds_what_one_has_judged_and_another_engine_does_not(redis: RedisServer) -> None:
    async def body(bench: Bench) -> None:
        await bench.kept(*range(1000))
        other, newer = Bench(redis.url), Bench(redis.url, engine="e2")
        assert await other.found(*range(1001)) == [*map(float, range(1000)), None]
        assert await newer.found(1, 2) == [None, None]
        assert (other.cache.stats.hits, other.cache.stats.misses) == (1000, 1)
        assert bench.cache.stats.written == 1000
        ttl = await bench.links[0].ask(lambda client: client.ttl(PREFIX + b"e1:" + key(7)))
        assert 0 < ttl <= 60
        await other.cache.close()
        await newer.cache.close()

    on(redis.url, body)


def test_poisoned_and_truncated_values_are_misses_and_their_neighbours_hits(redis: RedisServer) -> None:
    async def body(bench: Bench) -> None:
        await bench.kept(*range(10))
        client = bench.links[0].client
        name = PREFIX + b"e1:"
        await client.set(name + key(1), b"garbage")
        await client.set(name + key(2), (await client.get(name + key(2)))[:-1])
        await client.set(name + key(3), (await client.get(name + key(4))))
        await client.set(name + key(5), b"")
        await client.set(name + key(6), bytes(CHECKSUM_BYTES) + b'{"reward": 1e999}')
        assert await bench.found(*range(10)) == [0, None, None, None, 4, None, None, 7, 8, 9]
        assert bench.cache.stats.poisoned == 5

    on(redis.url, body)


def test_a_key_of_another_type_is_a_miss_and_nothing_worse(redis: RedisServer) -> None:
    async def body(bench: Bench) -> None:
        await bench.links[0].client.lpush(PREFIX + b"e1:" + key(1), b"x")
        assert await bench.found(1, 2) == [None, None]
        await bench.kept(1)
        assert await bench.found(1) == [1]

    on(redis.url, body)


def test_a_redis_that_hangs_costs_one_wait_and_is_then_left_alone(redis: RedisServer) -> None:
    async def body(bench: Bench) -> None:
        await bench.kept(1)
        redis.freeze()
        began = time.monotonic()
        for _ in range(100):
            assert await bench.found(1) == [None]
        assert time.monotonic() - began < 5 * TIMEOUT_S
        assert not bench.cache.up
        assert (bench.cache.stats.errors, bench.cache.stats.unasked) == (1, 99)
        redis.thaw()
        assert await bench.found(1) == [None]
        bench.now = 5.0
        assert await bench.found(1) == [1]
        assert bench.cache.up

    on(redis.url, body)


def test_a_redis_that_is_killed_and_started_again_is_used_again(redis: RedisServer) -> None:
    async def body(bench: Bench) -> None:
        await bench.kept(1)
        redis.kill()
        assert await bench.found(1) == [None]
        await bench.kept(2)
        assert bench.cache.stats.dropped == 1
        redis.start()
        bench.now = 5.0
        assert await bench.found(1, 2) == [None, None]
        await bench.kept(3)
        assert await bench.found(3) == [3]
        assert bench.cache.up

    on(redis.url, body)


def test_a_full_redis_is_still_read(redis: RedisServer) -> None:
    async def body(bench: Bench) -> None:
        await bench.kept(1)
        client = bench.links[0].client
        await client.config_set("maxmemory-policy", "noeviction")
        await client.config_set("maxmemory", "1mb")
        await bench.kept(*range(2, 3000))
        assert bench.cache.stats.dropped > 0
        assert await bench.found(1) == [1]

    on(redis.url, body)


def test_a_redis_that_answers_garbage_is_one_that_is_gone(tmp_path: Path) -> None:
    async def body() -> None:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(10)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        bench = Bench(f"redis://127.0.0.1:{port}/0")
        assert await bench.found(1, 2) == [None, None]
        await bench.kept(1)
        assert (bench.cache.stats.errors, bench.cache.stats.dropped) == (1, 1)
        server.close()
        await bench.cache.close()

    pytest.importorskip("redis")
    asyncio.run(body())


TWO_MISSES = b"*2\r\n$-1\r\n$-1"


@pytest.mark.parametrize(
    ("reply", "errors"),
    [
        (TWO_MISSES, 0),
        (b":5", 1),
        (b"$-1", 1),
        (b"*0", 1),
        (b"*1\r\n$-1", 1),
        (b"*3\r\n$-1\r\n$-1\r\n$-1", 1),
        (b"*2\r\n:1\r\n:2", 1),
        (b"*2\r\n*0\r\n$-1", 1),
    ],
)
def test_an_answer_of_another_shape_is_none(reply: bytes, errors: int) -> None:
    async def body() -> None:
        async with impostor(reply) as url:
            bench = Bench(url)
            assert await bench.found(1, 2) == [None, None]
            assert bench.cache.stats.errors == errors
            await bench.cache.close()

    pytest.importorskip("redis")
    asyncio.run(body())


def test_writes_wait_for_nobody_and_no_more_of_them_than_fit(redis: RedisServer) -> None:
    async def body(bench: Bench) -> None:
        redis.freeze()
        for number in range(10_000):
            bench.cache.put(key(number), RIGHT)
        assert bench.cache.stats.dropped == 10_000 - 8192
        await bench.kept()
        assert bench.cache.stats.dropped == 10_000
        redis.thaw()

    on(redis.url, body)


def test_a_caller_that_is_cancelled_leaves_the_link_in_order(redis: RedisServer) -> None:
    async def body(bench: Bench) -> None:
        await bench.kept(*range(100))
        for _ in range(20):
            asking = asyncio.create_task(bench.found(*range(100)))
            await asyncio.sleep(0)
            asking.cancel()
            with pytest.raises((asyncio.CancelledError, RedisGone)):
                await asking
        assert await bench.found(3, 200, 4) == [3, None, 4]

    on(redis.url, body)
