import pytest

torch = pytest.importorskip("torch")

from grpo_trainer.tally import Tally, merged  # noqa: E402

VALUES = torch.tensor([[1.0, 2.0, 100.0], [3.0, 100.0, 100.0]])
MASK = torch.tensor([[True, True, False], [True, False, False]])


def tally_of(rows: slice) -> Tally:
    tally = Tally()
    tally.add("x", VALUES[rows], MASK[rows])
    tally.top("x", VALUES[rows], MASK[rows])
    return tally


def test_means_and_maxima_do_not_depend_on_how_a_batch_is_cut() -> None:
    whole, parts = tally_of(slice(None)), merged([tally_of(slice(1)), tally_of(slice(1, 2))])
    assert whole == parts
    assert whole.means() == {"x": 2.0}
    assert whole.highest == {"x": 3.0}


def test_nothing_counted_is_a_mean_of_zero_and_no_maximum() -> None:
    tally = Tally()
    tally.add("x", VALUES, torch.zeros_like(MASK))
    tally.top("x", VALUES, torch.zeros_like(MASK))
    assert tally.means() == {"x": 0.0}
    assert tally.highest == {}
