from hypothesis import given
from hypothesis import strategies as st

from verifier_service.cache import ENTRY_BYTES, Cache


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_a_value_comes_back() -> None:
    cache: Cache[str] = Cache(1000)
    cache.put(key(1), "one", 3)
    assert cache.get(key(1)) == "one"
    assert cache.get(key(2)) is None
    assert (cache.stats.hits, cache.stats.misses) == (1, 1)


def test_the_least_recently_used_goes_first() -> None:
    cache: Cache[int] = Cache(3 * (ENTRY_BYTES + 10))
    for number in range(3):
        cache.put(key(number), number, 10)
    cache.get(key(0))
    cache.put(key(3), 3, 10)
    assert [cache.get(key(number)) for number in range(4)] == [0, None, 2, 3]
    assert cache.stats.evicted == 1


def test_a_value_above_the_budget_is_not_kept_and_drives_nothing_out() -> None:
    cache: Cache[str] = Cache(1000)
    cache.put(key(1), "small", 5)
    cache.put(key(2), "large", 5000)
    assert cache.get(key(1)) == "small"
    assert cache.get(key(2)) is None


def test_an_outgrown_entry_is_not_kept_at_its_old_value() -> None:
    cache: Cache[str] = Cache(1000)
    cache.put(key(1), "old", 5)
    cache.put(key(1), "new", 5000)
    assert cache.get(key(1)) is None


def test_a_budget_of_nothing_keeps_nothing() -> None:
    cache: Cache[str] = Cache(0)
    cache.put(key(1), "one", 0)
    assert cache.get(key(1)) is None


def test_an_entry_with_a_lifetime_ends_with_it() -> None:
    now = [100.0]
    cache: Cache[str] = Cache(1000, clock=lambda: now[0])
    cache.put(key(1), "brief", 5, ttl_s=60)
    now[0] = 159.9
    assert cache.get(key(1)) == "brief"
    now[0] = 160.0
    assert cache.get(key(1)) is None
    assert cache.stats.entries == cache.stats.bytes == 0


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 900))))
def test_the_count_of_bytes_is_the_sum_of_what_is_kept_and_within_the_budget(
    puts: list[tuple[int, int]],
) -> None:
    cache: Cache[int] = Cache(2000)
    last: dict[int, int] = {}
    for number, size in puts:
        cache.put(key(number), size, size)
        last[number] = size
    kept = {number: value for number in last if (value := cache.get(key(number))) is not None}
    assert cache.stats.bytes == sum(size + ENTRY_BYTES for size in kept.values()) <= 2000
    assert cache.stats.entries == len(kept)
    assert all(last[number] == value for number, value in kept.items())
