"""How long a call takes, from what workers were busy with."""

import pytest

from verifier_service.workers.pace import FIRST_GUESS_S, Pace


def test_before_anything_is_known_there_is_a_guess() -> None:
    pace = Pace()
    pace.note(0, 1.0)
    assert pace.call_s == FIRST_GUESS_S


@pytest.mark.parametrize("seconds", [0.0001, 0.02])
def test_it_follows_within_a_few_chunks(seconds: float) -> None:
    pace = Pace()
    for _ in range(12):
        pace.note(32, 32 * seconds)
    assert pace.call_s == pytest.approx(seconds, rel=0.35)


def test_one_heavy_call_among_many_counts_as_one() -> None:
    pace = Pace()
    for _ in range(100):
        pace.note(63, 63 * 0.001)
        pace.note(1, 0.07)
    assert pace.call_s == pytest.approx((63 * 0.001 + 0.07) / 64, rel=0.5)


def test_a_chunk_larger_than_its_memory_is_all_it_knows() -> None:
    pace = Pace()
    pace.note(1000, 5.0)
    assert pace.call_s == pytest.approx(0.005)
