"""One item in, one judgement out: a pure function of the item and the profile. Runs only in workers."""

import copyreg
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, NamedTuple

from verifier_service.equivalence import (
    Context,
    Decision,
    Gold,
    GoldCheck,
    Offered,
    Rules,
    check_gold,
    decide,
)
from verifier_service.equivalence import explain as decision_steps
from verifier_service.equivalence.slow_path import (
    CLOSED,
    TIMEOUT,
    Known,
    Question,
    SlowPath,
    Symbolic,
    Unanswered,
)
from verifier_service.equivalence.symbolic import SYMPY
from verifier_service.extraction import offered_answer
from verifier_service.packing import JudgeItem, unpacked
from verifier_service.rewards import (
    RewardFailed,
    Score,
    accuracy,
    language,
    length,
    plugins,
    repetition,
)
from verifier_service.rewards import format as layout
from verifier_service.rewards.profile import Combined, Profile, combine, load_profiles
from verifier_service.transcript import Transcript, split_completion

# An answer is echoed in the reply; one longer than any answer of use is cut, lest a batch of boxed novels
# comes back whole.
LONGEST_EXTRACT = 10_000
LONGEST_REASON = 1_000


@dataclass(
    slots=True
)  # not frozen: one is made of every item in two processes, and that takes three times as long
class Judgement:
    """What is said of an item.

    reward: None exactly where error_code is set. components: weighted, summing to the reward, {} without
    one. scores: raw, None where a reward had no verdict or no evidence. elapsed_ms: CPU time in the worker.
    """

    reward: float | None
    components: dict[str, float]
    scores: dict[str, float | None]
    verdict: str | None
    extracted: str | None
    method: str | None
    reason: str
    warnings: tuple[str, ...] = ()
    error_code: str | None = None
    error_message: str = ""
    elapsed_ms: float = 0.0
    explanation: dict[str, Any] | None = None


def _pickle_by_fields(kind: type[Any]) -> None:
    """In place of what slotted dataclasses do, which takes several times as long for every item."""
    values = attrgetter(*(field.name for field in fields(kind)))
    copyreg.pickle(kind, lambda one: (kind, values(one)))


_pickle_by_fields(Judgement)


class _Case(NamedTuple):
    """An item taken apart: what the rewards look at."""

    item: JudgeItem
    started_ns: int
    rules: Rules
    transcript: Transcript
    offered: Offered
    context: Context
    decision: Decision | None  # None where there is no gold


def score_item(
    item: JudgeItem,
    profile: Profile,
    *,
    slow_path: SlowPath = SYMPY,
    explain: bool = False,
) -> Judgement:
    """Judges one completion: the verdict where there is a gold, every reward of the profile, their sum.

    slow_path: how to ask what cannot be bounded from inside; where it is CLOSED, the verdict is by the rules'
    on_answer_timeout. Raises Unanswered where the slow path does.
    """
    missing = _missing_input(item, profile)
    if missing:
        return _null("missing_input", missing)
    case = _taken_apart(item, profile.rules, slow_path)
    try:
        scores = {reward.name: _score(reward.name, case) for reward in profile.rewards}
        combined = combine(scores, profile)
    except RewardFailed as error:
        return _null("internal", str(error))
    judgement = _assembled(case, scores, combined)
    if explain:
        judgement.explanation = _explanation(case, scores, slow_path)
    return judgement


def check_gold_item(gold: Gold, prompt: str, rules: Rules) -> GoldCheck:
    """Whether items with this gold can be judged at all."""
    return check_gold(gold, rules, Context(prompt=prompt))


@dataclass(frozen=True, slots=True)
class Asks:
    """In place of a judgement: the question of the slow path that has to be answered first."""

    question: Question


def perform(kind: str, args: tuple[Any, ...], slow_path: bool) -> object:
    """What the pool calls. slow_path: whether what cannot be bounded from inside may be tried.

    "score" with (packed item, profile, explain, known): a Judgement; or Asks, where `known`, pairs of questions of the
    slow path and their answers, lacks one. Without `known`, None, sympy is asked at once.
    "slow" with (question,): its Symbolic answer.  "gold" with (gold, prompt, rules): a GoldCheck.
    """
    match kind:
        case "gold":
            return check_gold_item(*args)
        case "slow":
            return _answer(*args) if slow_path else _out_of_time(*args)
    data, profile, explain, known = args
    path: SlowPath = SYMPY if slow_path else CLOSED
    if known is not None:
        path = Known(dict(known), None if slow_path else CLOSED)
    try:
        return score_item(unpacked(data), profile, slow_path=path, explain=explain)
    except Unanswered as unanswered:
        return Asks(unanswered.question)


def _answer(question: Question) -> Symbolic:
    started_ns = time.process_time_ns()
    return replace(SYMPY.ask(*question), elapsed_ms=_ms_since(started_ns))


def _out_of_time(question: Question) -> Symbolic:
    """A gold that cannot be read in time cannot be judged; of an answer it is the answer's fault."""
    return Symbolic(False if len(question) == 1 else None, TIMEOUT)


def warm_up() -> None:
    """Loads and fills what workers share: models, tables, and the parser of the slow path, which learns."""
    language.preload()
    profile = load_profiles()["r1"]
    for answer, gold, prompt in _WARM_UP:
        text = (
            f"<think>We add the two numbers and get the result.</think>The answer is $\\boxed{{{answer}}}$."
        )
        score_item(JudgeItem(text, Gold(any_of=(gold,)), prompt, language="en"), profile)


# Answer, gold, prompt: one for each way through the judge, the slow path included.
_WARM_UP = (
    (r"\frac{1}{2}", "0.5", "What is $1 - 0.5$?"),
    (r"x^2 - 1", "(x-1)(x+1)", "Expand $(x-1)(x+1)$."),
    (r"\sqrt{3+2\sqrt2}", r"1+\sqrt 2", ""),
    (r"\cosh^2 t", r"1+\sinh^2 t", "Simplify."),
    (r"[1, 2)", r"1 \le x < 2", "Solve the inequality."),
    (r"500 cm", "5 m", "How long is it?"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", "(1, 2)", ""),
    (r"\int e^{x^2} dx", r"\int e^{t^2} dt", ""),
)


def _missing_input(item: JudgeItem, profile: Profile) -> str:
    """What the profile needs and the item lacks, "" for nothing."""
    if profile.needs_gold and item.gold is None:
        return f'profile "{profile.name}" judges accuracy, and the item has no gold'
    if item.language is None and any(reward.name == "language" for reward in profile.rewards):
        return f'profile "{profile.name}" judges the language, and the item does not name its `language`'
    return ""


def _null(code: str, message: str) -> Judgement:
    message = _printable(message)[:LONGEST_REASON]
    return Judgement(None, {}, {}, None, None, None, "", error_code=code, error_message=message)


def _taken_apart(item: JudgeItem, rules: Rules, slow_path: SlowPath) -> _Case:
    started_ns = time.process_time_ns()
    transcript = split_completion(item.completion, prefilled_think=item.prefilled_think)
    offered = offered_answer(transcript, rules)
    context = Context(item.prompt, item.choices, item.unit)
    decision = None
    if item.gold is not None:
        decision = decide(item.gold, offered, rules, context, slow_path=slow_path)
    return _Case(item, started_ns, rules, transcript, offered, context, decision)


def _accuracy(case: _Case) -> Score:
    assert case.decision is not None  # an item without gold does not come this far
    return accuracy.score(case.decision)


def _format(case: _Case) -> Score:
    return layout.score(case.transcript, case.rules.template, case.item.prefilled_think)


def _language(case: _Case) -> Score:
    text = language.part_text(case.transcript, case.rules.language_part)
    return language.score(text, case.item.language or "")


def _overlong(case: _Case) -> Score:
    return length.score(case.item.completion_tokens, case.item.max_tokens, case.item.truncated)


def _repetition(case: _Case) -> Score:
    return repetition.score(case.transcript.text)


_BUILT_IN: Mapping[str, Callable[[_Case], Score]] = {
    "accuracy": _accuracy,
    "format": _format,
    "language": _language,
    "overlong": _overlong,
    "repetition": _repetition,
}


def _score(name: str, case: _Case) -> Score:
    if name in _BUILT_IN:
        return _BUILT_IN[name](case)
    verdict = case.decision.verdict if case.decision is not None else None
    return plugins.score(name, case.item, case.transcript, verdict)


def _assembled(case: _Case, scores: Mapping[str, Score], combined: Combined) -> Judgement:
    decision, warnings = case.decision, [*case.transcript.warnings]
    null = decision is not None and decision.verdict is None
    if decision is not None and null and combined.reward is not None:
        warnings.append(f"no verdict ({decision.code}): {decision.reason}")
    failed = decision is not None and combined.reward is None
    return Judgement(
        reward=combined.reward,
        components=combined.components,
        scores={name: score.value for name, score in scores.items()},
        verdict=decision.verdict if decision is not None else None,
        extracted=_extracted(case.offered),
        method=decision.method if decision is not None else None,
        reason=_printable(decision.reason)[:LONGEST_REASON] if decision is not None else "",
        warnings=tuple(map(_printable, warnings)),
        error_code=decision.code if decision is not None and failed else None,
        error_message=_printable(decision.reason)[:LONGEST_REASON] if decision is not None and failed else "",
        elapsed_ms=_ms_since(case.started_ns),
    )


def _ms_since(started_ns: int) -> float:
    return (time.process_time_ns() - started_ns) / 1e6


def _extracted(offered: Offered) -> str | None:
    if offered.answer is None:
        return None
    answer = _printable(offered.answer)
    return answer if len(answer) <= LONGEST_EXTRACT else answer[:LONGEST_EXTRACT] + "…"


def _explanation(case: _Case, scores: Mapping[str, Score], slow_path: SlowPath) -> dict[str, Any]:
    """For people: where things stand in `text`, what each reward saw, every step of the decision."""
    last = case.offered.parts[-1] if case.offered.parts else None
    explanation: dict[str, Any] = {
        "text": case.transcript.text,
        "spans": {
            "thinking": case.transcript.thinking_span,
            "response": case.transcript.response_span,
            "answer": (last.start, last.end) if last is not None else None,
        },
        "found": case.offered.how,
        "not_found": case.offered.fault,
        "tag_faults": list(case.transcript.faults),
        "rewards": {name: score.detail for name, score in scores.items()},
        "steps": _steps(case, slow_path),
    }
    return {key: _printable_throughout(value) for key, value in explanation.items()}


def _steps(case: _Case, slow_path: SlowPath) -> list[dict[str, str]]:
    if case.item.gold is None:
        return []
    steps = decision_steps(case.item.gold, case.offered, case.rules, case.context, slow_path)
    return [{"title": step.title, "detail": step.detail} for step in steps]


def _printable(text: str) -> str:
    """The text as any encoding of JSON can carry it: a lone surrogate becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _printable_throughout(value: Any) -> Any:
    if isinstance(value, str):
        return _printable(value)
    if isinstance(value, dict):
        return {_printable_throughout(key): _printable_throughout(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_printable_throughout(member) for member in value]
    return value
