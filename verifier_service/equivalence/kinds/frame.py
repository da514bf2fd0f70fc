"""What every comparison is given besides the two trees."""

from collections.abc import Callable
from typing import NamedTuple

from ..decision import Decision
from ..identity import Assumptions
from ..nodes import Node
from ..prompt import Facts
from ..rules import Rules
from ..slow_path import CLOSED, SlowPath
from ..symbolic import SYMPY


class Frame(NamedTuple):
    """The rules in force and the facts of the prompt.

    compare: the comparison of any two trees, for the members of a collection.
    slow_path: how to ask sympy.  gold_text, answer_text: clean texts, for the slow path.
    outermost: are these the whole gold and answer, where braces around one value may be left out?
    """

    rules: Rules
    facts: Facts
    given: Assumptions
    compare: Callable[[Node, Node, "Frame"], Decision]
    slow_path: SlowPath = SYMPY
    gold_text: str = ""
    answer_text: str = ""
    outermost: bool = True

    def inside(self) -> "Frame":
        """For members of a larger answer: the texts of the whole are not theirs."""
        return self._replace(gold_text="", answer_text="", slow_path=CLOSED, outermost=False)
