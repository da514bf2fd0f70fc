import math
from xml.etree import ElementTree

import pytest

from grpo_trainer.observe.charts import chart, smoothed, ticks


@pytest.mark.parametrize(
    "low, high, expected",
    [(0, 1, [0, 0.5, 1]), (0, 100, [0, 50, 100]), (-0.03, 0.03, [-0.02, 0, 0.02]), (5, 5, [5])],
)
def test_ticks_are_round_and_inside(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == expected


def test_a_chart_is_well_formed_and_escapes_its_words() -> None:
    page = chart("loss < 1 & more", {"a<b": [(1, 0.5), (2, 0.25)], "c": [(1, 1.0)]})
    tree = ElementTree.fromstring(page)
    assert len(tree.findall(".//polyline")) == 4


def test_a_line_stays_inside_the_picture() -> None:
    tree = ElementTree.fromstring(chart("x", {"": [(n, math.sin(n) * 1e6) for n in range(50)]}))
    for line in tree.findall(".//polyline"):
        for place in line.attrib["points"].split():
            x, y = map(float, place.split(","))
            assert 0 <= x <= 460
            assert 0 <= y <= 200


def test_what_is_not_finite_is_left_out_and_nothing_makes_no_chart() -> None:
    assert "nan" not in chart("x", {"": [(1, math.nan), (2, 1.0)]})
    assert chart("x", {"": [(1, math.nan)]}) == ""
    assert chart("x", {}) == ""


def test_smoothing_keeps_a_constant_and_begins_without_bias() -> None:
    assert [y for _, y in smoothed([(n, 3.0) for n in range(9)])] == pytest.approx([3.0] * 9)
