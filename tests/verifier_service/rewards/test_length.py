import pytest

from verifier_service.rewards import length


@pytest.mark.parametrize(
    "tokens, expected",
    [
        (0, 0.0),
        (1, 0.0),
        (16384, 0.0),
        (16385, -1 / 4096),
        (18432, -0.5),
        (20480, -1.0),
        (20481, -1.0),
        (10**9, -1.0),
    ],
)
def test_the_numbers_of_the_paper(tokens: int, expected: float) -> None:
    """DAPO: expected length 16,384, buffer 4,096, limit 20,480."""
    assert length.score(tokens, 20480, None).value == pytest.approx(expected, abs=1e-12)


def test_the_slope_is_linear_over_the_last_fifth() -> None:
    values = [length.score(tokens, 100, False).value for tokens in range(79, 103)]
    assert values == pytest.approx([0, 0, *(-step / 20 for step in range(1, 21)), -1, -1])


def test_a_limit_of_one_token_is_still_a_limit() -> None:
    assert length.score(1, 1, None).value == -1.0
    assert length.score(0, 1, None).value == 0.0


@pytest.mark.parametrize("tokens, limit", [(None, None), (None, 100), (70, None)])
def test_where_a_number_is_missing_only_a_cut_off_text_is_punished(
    tokens: int | None, limit: int | None
) -> None:
    assert length.score(tokens, limit, True).value == -1.0
    assert length.score(tokens, limit, False).value is None
    assert length.score(tokens, limit, None).value is None


def test_known_numbers_decide_whatever_the_flag_says() -> None:
    assert length.score(90, 100, True).value == pytest.approx(-0.5)
    assert length.score(100, 100, False).value == -1.0
