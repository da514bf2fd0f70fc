"""What goes into the judge and what comes out of it."""

from typing import Literal, NamedTuple

Verdict = Literal["correct", "incorrect", "no_answer"]

# How a decision was reached, weakest claim last. "sampled" and "symbolic" are not proofs.
Method = Literal[
    "text",  # same text after clean-up
    "exact",  # exact arithmetic or exact structure
    "ball",  # rigorous enclosures: separated, or agreeing to the full precision
    "sampled",  # agreement or disagreement at sample points
    "symbolic",  # latex2sympy2 + sympy
    "rule",  # a rule of form decided: echo, unsolved, hedged, refused
    "none",  # nothing was offered
]


class Decision(NamedTuple):
    """The judge's word on one answer.

    verdict is None only where the gold cannot be judged or the clock ran out; code then says which
    ("unverifiable_gold", "answer_timeout").
    """

    verdict: Verdict | None
    method: Method
    reason: str
    code: str | None = None

    @property
    def is_correct(self) -> bool:
        return self.verdict == "correct"


def correct(method: Method, reason: str) -> Decision:
    return Decision("correct", method, reason)


def incorrect(method: Method, reason: str) -> Decision:
    return Decision("incorrect", method, reason)


def no_answer(reason: str) -> Decision:
    return Decision("no_answer", "none", reason)


def unverifiable(reason: str) -> Decision:
    return Decision(None, "none", reason, code="unverifiable_gold")


class Part(NamedTuple):
    """One box, with the name written before it ("x=" in "$x=\\boxed{1}$"), "" where there is none.

    start, end: span of the text in the completion, code points; both 0 where it is synthetic.
    """

    text: str
    label: str = ""
    start: int = 0
    end: int = 0


class Offered(NamedTuple):
    """What a response offers as its answer.

    parts: the trailing boxes that are linked by names, commas or "and" with no words of correction
    between, in order; the last one is the answer on its own. Empty: nothing was offered.
    run: how many of the last parts have nothing between them but spaces, commas, "or", "and":
    at least 1 where there are parts. Above 1 they are alternatives, unless the gold has as many parts.
    how: where it was found: "box", "answer_tag", "phrase", "hash", "bold", "formula", or "" for nothing.
    fault: why nothing was offered ("no box", "the last box is cut off", "thinking never closed", ...).
    """

    parts: tuple[Part, ...] = ()
    run: int = 0
    how: str = ""
    fault: str = ""

    @property
    def answer(self) -> str | None:
        return self.parts[-1].text if self.parts else None


class Context(NamedTuple):
    """What surrounds an answer and bears on its meaning; nothing here is parsed yet.

    prompt: the question as plain text, "" where unknown.
    choices: texts of the options A, B, C ... of a multiple-choice item.
    unit: the unit that the data row names, "" where it names none.
    """

    prompt: str = ""
    choices: tuple[str, ...] = ()
    unit: str = ""


class Gold(NamedTuple):
    """The reference answer. `any_of`: alternatives, any one will do. `all_of`: parts, all are needed."""

    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
