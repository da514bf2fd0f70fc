"""What only sympy can tell, as questions whose answers stand on their own, whoever asks and why.

A question is (gold, answer): have these two texts the same value? Or (gold,): can a formula be made of it? Nothing
else bears on the answer, so it can be found elsewhere, remembered, and given to every item that raises it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

Question = tuple[str, ...]
TIMEOUT = "answer_timeout"  # the reason of an answer that the clock gave


@dataclass(frozen=True, slots=True)
class Symbolic:
    """equal: None where it could not be decided.  reason: how it was decided, or why not.

    elapsed_ms: CPU time that it took to find out, 0.0 for what was known.
    """

    equal: bool | None
    reason: str
    elapsed_ms: float = 0.0


class SlowPath(Protocol):
    """A way to have questions answered."""

    def ask(self, *question: str) -> Symbolic: ...


class Closed:
    """Answers nothing: time is over, and the answer's fault. Of a gold the best is believed."""

    def ask(self, *question: str) -> Symbolic:
        return Symbolic(True if len(question) == 1 else None, TIMEOUT)


class Unanswered(Exception):
    """Raised by `Known` with the question that has to be answered first."""

    def __init__(self, *question: str) -> None:
        super().__init__(*question)
        self.question: Question = question


CLOSED = Closed()


class Known:
    """Knows some answers. For the others it asks elsewhere or, without an elsewhere, raises Unanswered."""

    def __init__(self, answers: Mapping[Question, Symbolic], elsewhere: SlowPath | None = None) -> None:
        self._answers = answers
        self._elsewhere = elsewhere

    def ask(self, *question: str) -> Symbolic:
        answer = self._answers.get(question)
        if answer is not None:
            return answer
        if self._elsewhere is None:
            raise Unanswered(*question)
        return self._elsewhere.ask(*question)
