import gc

from hypothesis import given
from hypothesis import strategies as st

from verifier_service.cache import ENTRY_BYTES, Cache


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_a_value_comes_back() -> None:
    cache = Cache(1000)
    cache.put(key(1), b"one")
    assert cache.get(key(1)) == b"one"
    assert cache.get(key(2)) is None
    assert (cache.stats.hits, cache.stats.misses) == (1, 1)


def test_it_keeps_a_copy_of_its_own() -> None:
    value, cache = b"the rest of a larger buffer", Cache(1000)
    cache.put(key(1), value)
    assert cache.get(key(1)) == value
    assert cache.get(key(1)) is not value


def test_the_least_recently_used_goes_first() -> None:
    cache = Cache(3 * (ENTRY_BYTES + 1))
    for number in range(3):
        cache.put(key(number), b"%d" % number)
    cache.get(key(0))
    cache.put(key(3), b"3")
    assert [cache.get(key(number)) for number in range(4)] == [b"0", None, b"2", b"3"]
    assert cache.stats.evicted == 1


def test_a_value_above_the_budget_is_not_kept_and_drives_nothing_out() -> None:
    cache = Cache(1000)
    cache.put(key(1), b"small")
    cache.put(key(2), bytes(5000))
    assert cache.get(key(1)) == b"small"
    assert cache.get(key(2)) is None


def test_an_outgrown_entry_is_not_kept_at_its_old_value() -> None:
    cache = Cache(1000)
    cache.put(key(1), b"old")
    cache.put(key(1), bytes(5000))
    assert cache.get(key(1)) is None


def test_a_budget_of_nothing_keeps_nothing() -> None:
    cache = Cache(0)
    cache.put(key(1), b"")
    assert cache.get(key(1)) is None


def test_an_entry_with_a_lifetime_ends_with_it() -> None:
    now = [100.0]
    cache = Cache(1000, clock=lambda: now[0])
    cache.put(key(1), b"brief", ttl_s=60)
    now[0] = 159.9
    assert cache.get(key(1)) == b"brief"
    now[0] = 160.0
    assert cache.get(key(1)) is None
    assert cache.stats.entries == cache.stats.bytes == 0


def test_the_collector_of_cycles_finds_nothing_to_walk_through() -> None:
    cache = Cache(1 << 20)
    gc.collect()
    before = len(gc.get_objects())
    for number in range(1000):
        cache.put(key(number), b"value %d" % number)
    gc.collect()
    assert len(gc.get_objects()) - before < 100


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 900))))
def test_the_count_of_bytes_is_the_sum_of_what_is_kept_and_within_the_budget(
    puts: list[tuple[int, int]],
) -> None:
    cache = Cache(2000)
    last: dict[int, bytes] = {}
    for number, size in puts:
        last[number] = bytes(size)
        cache.put(key(number), last[number])
    kept = {number: value for number in last if (value := cache.get(key(number))) is not None}
    assert cache.stats.bytes == sum(len(value) + ENTRY_BYTES for value in kept.values()) <= 2000
    assert cache.stats.entries == len(kept)
    assert all(last[number] == value for number, value in kept.items())
