"""What only sympy can tell: asked once, remembered, and the same as if every item had asked for itself."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from verifier_service.cache import Cache
from verifier_service.equivalence.decision import Gold
from verifier_service.equivalence.slow_path import TIMEOUT, Question, Symbolic
from verifier_service.equivalence.symbolic import SYMPY
from verifier_service.judge import Asks, Judgement, perform
from verifier_service.local import LocalClient
from verifier_service.packing import JudgeItem, packed, unpacked
from verifier_service.rewards.profile import load_profiles
from verifier_service.schema import Item, ScoreResponse
from verifier_service.scoring import Scorer
from verifier_service.shared_cache import SharedCache
from verifier_service.slow_verdicts import MOST_QUESTIONS, SlowVerdicts
from verifier_service.workers import Call, Done, Failed, Outcome, WorkerPool

PROFILES = load_profiles()
ACCURACY = PROFILES["accuracy"]
CASES = Path(__file__).parent.parent / "cases"
FORMULA, OTHER = r"\int e^{x^2} dx", r"\int e^{t^2} dt"


class Desk:
    """A pool of no processes: it performs in place, and answers for sympy."""

    def __init__(self) -> None:
        self.asked: list[Call] = []
        self.answer: Callable[[Question], Outcome] = lambda question: Done(Symbolic(True, "told"))
        self.gate: asyncio.Event | None = None

    async def run(
        self, calls: Sequence[Call], *, deadline: float | None = None, on_done: Any = None
    ) -> list[Outcome]:
        self.asked += calls
        if self.gate is not None and any(call.kind == "slow" for call in calls):
            await self.gate.wait()
        outcomes = [
            self.answer(*call.args) if call.kind == "slow" else Done(perform(call.kind, call.args, True))
            for call in calls
        ]
        for place, outcome in enumerate(outcomes if on_done is not None else ()):
            on_done(place, outcome)
        return outcomes

    def questions(self) -> list[Question]:
        return [call.args[0] for call in self.asked if call.kind == "slow"]


class Court:
    """A scorer with a desk, without a cache of items."""

    def __init__(self) -> None:
        self.desk = Desk()
        self.now = 0.0
        self.cache = Cache(1 << 20, clock=lambda: self.now)
        pool = cast("WorkerPool", self.desk)
        self.scorer = Scorer(pool, Cache(0), SlowVerdicts(pool, self.cache), PROFILES)

    def score(self, *items: Item, **options: Any) -> ScoreResponse:
        return asyncio.run(self.scorer.score(items, **options))


def sample(number: int, answer: str = OTHER, gold: Any = FORMULA) -> Item:
    return Item(completion=f"<think>{number}</think>\\boxed{{{answer}}}", gold=gold)


def test_samples_that_end_in_one_formula_ask_once() -> None:
    court = Court()
    response = court.score(*(sample(number) for number in range(8)), sample(8, "5"))
    assert response.rewards == [1.0] * 9
    assert {result.method for result in response.results} == {"symbolic"}
    assert Counter(court.desk.questions()) == {(FORMULA, OTHER): 1, (FORMULA, "5"): 1}
    again = court.score(sample(9), sample(10))
    assert again.rewards == [1.0, 1.0]
    assert len(court.desk.questions()) == 2
    assert court.cache.stats.hits > 0


def test_the_time_that_sympy_takes_is_told_once() -> None:
    court = Court()
    court.desk.answer = lambda question: Done(Symbolic(True, "told", elapsed_ms=500.0))
    times = [result.elapsed_ms for result in court.score(*map(sample, range(4))).results]
    assert [ms > 500 for ms in times] == [True, False, False, False]
    assert court.score(sample(5)).results[0].elapsed_ms < 500


def test_rules_and_guards_are_applied_to_what_is_remembered() -> None:
    court = Court()
    echo = Item(completion=rf"\boxed{{{OTHER}}}", gold=FORMULA, prompt=f"What is ${OTHER}$?")
    response = court.score(sample(1), echo)
    assert response.rewards == [1.0, 0.0]
    assert response.results[1].reason == "echo"
    assert court.desk.questions() == [(FORMULA, OTHER)]


def test_a_word_of_the_clock_is_kept_for_a_minute_and_falls_as_the_rules_say() -> None:
    court = Court()
    court.desk.answer = lambda question: Done(Symbolic(None, TIMEOUT))
    assert court.score(sample(1)).rewards == [0.0]
    court.now = 59.0
    assert court.score(sample(2)).rewards == [0.0]
    assert len(court.desk.questions()) == 1
    court.now = 61.0
    court.score(sample(3))
    assert len(court.desk.questions()) == 2


@pytest.mark.parametrize("code", ["worker_lost", "internal", "deadline", "queue_timeout"])
def test_a_fault_of_ours_is_the_items_and_is_forgotten(code: Any) -> None:
    court = Court()
    court.desk.answer = lambda question: Failed(code, "it happened")
    response = court.score(sample(1), sample(2), Item(completion=r"\boxed{5}", gold="5"))
    assert response.rewards == [None, None, 1.0]
    assert [result.error.code if result.error else None for result in response.results] == [code, code, None]
    court.desk.answer = lambda question: Done(Symbolic(True, "told"))
    assert court.score(sample(1)).rewards == [1.0]


def test_a_question_too_heavy_for_every_run_is_the_answers_fault() -> None:
    court = Court()
    court.desk.answer = lambda question: Failed("answer_timeout", "too heavy in 3 runs")
    assert court.score(sample(1)).rewards == [0.0]


def together(*works: Callable[[], Awaitable[ScoreResponse]], court: Court) -> list[ScoreResponse]:
    async def all_at_once() -> list[ScoreResponse]:
        court.desk.gate = asyncio.Event()
        tasks = [asyncio.ensure_future(work()) for work in works]
        for _ in range(20):
            await asyncio.sleep(0)
        court.desk.gate.set()
        return list(await asyncio.gather(*tasks))

    return asyncio.run(all_at_once())


def test_requests_under_way_together_ask_once() -> None:
    court = Court()
    replies = together(
        *(lambda number=number: court.scorer.score([sample(number)]) for number in range(3)),  # type: ignore[misc]
        court=court,
    )
    assert [reply.rewards for reply in replies] == [[1.0]] * 3
    assert court.desk.questions() == [(FORMULA, OTHER)]


def test_who_waited_for_a_question_that_ran_out_of_anothers_time_asks_himself() -> None:
    court = Court()
    told = iter([Failed("deadline", "its time ended"), Done(Symbolic(True, "told"))])
    court.desk.answer = lambda question: next(told)
    first, second = together(
        lambda: court.scorer.score([sample(1)]), lambda: court.scorer.score([sample(2)]), court=court
    )
    assert (first.rewards, second.rewards) == ([None], [1.0])


def test_an_item_of_too_many_questions_is_left_to_a_worker_as_a_whole() -> None:
    court = Court()
    court.desk.answer = lambda question: Done(Symbolic(False, "told"))
    golds = [f"\\int e^{{x^2}} {number} dx" for number in range(2, MOST_QUESTIONS + 6)]
    court.score(sample(1, gold=golds))
    known = [call.args[-1] for call in court.desk.asked if call.kind == "score"]
    assert len(court.desk.questions()) == MOST_QUESTIONS
    assert known[-1] is None


class Shelf:
    """In place of Redis."""

    def __init__(self) -> None:
        self.answers: dict[bytes, Symbolic] = {}
        self.asked = 0

    async def get_many(self, keys: Sequence[bytes]) -> list[Symbolic | None]:
        self.asked += 1
        return [self.answers.get(key) for key in keys]

    def put(self, key: bytes, answer: Symbolic) -> None:
        self.answers[key] = answer


def test_another_replica_need_not_ask() -> None:
    shelf, courts = Shelf(), [Court(), Court()]
    for court in courts:
        court.scorer._slow_verdicts._shared = cast("SharedCache[Symbolic]", shelf)
    for court in courts:
        assert court.score(sample(1), sample(2)).rewards == [1.0, 1.0]
    assert [len(court.desk.questions()) for court in courts] == [1, 0]
    assert courts[1].score(sample(3)).rewards == [1.0]
    assert shelf.asked == 2


def test_a_word_of_the_clock_is_not_for_other_replicas() -> None:
    shelf, court = Shelf(), Court()
    court.scorer._slow_verdicts._shared = cast("SharedCache[Symbolic]", shelf)
    court.desk.answer = lambda question: Done(Symbolic(None, TIMEOUT))
    court.score(sample(1))
    assert not shelf.answers


PAIRS = [
    (FORMULA, OTHER),
    (FORMULA, r"\int e^{x \cdot x} dx"),
    (FORMULA, "5"),
    (r"\sum_{n=1}^{\infty} \frac{1}{n^3}", r"\sum_{k=1}^{\infty} k^{-3}"),
    (r"\int_0^1 x^x dx", r"\int_0^1 t^t dt"),
    (r"\prod_{k=1}^{5} k", "120"),
    (r"\lim_{x \to 0} \frac{\sin x}{x}", "1"),
    ("5 4.6", "9.6"),
    (r"x \star y", "5"),
    (r"$20 \$ 1,6 \$ 5$", "5"),
]


def items_of_the_slow_path() -> list[JudgeItem]:
    """Pairs and labelled cases whose decision waits for sympy."""
    found = [JudgeItem(f"\\boxed{{{answer}}}", Gold(any_of=(gold,))) for gold, answer in PAIRS]
    for path in sorted(CASES.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            gold, completion = case.get("gold"), case.get("completion", case.get("response"))
            if not isinstance(gold, str) or not isinstance(completion, str):
                continue
            item = JudgeItem(
                completion, Gold(any_of=(gold,)), case.get("prompt") or case.get("question") or ""
            )
            found.append(item)
    return [item for item in found if isinstance(asked_for(item, {}), Asks)]


def asked_for(item: JudgeItem, known: dict[Question, Symbolic]) -> object:
    return perform("score", (packed(item), ACCURACY, False, tuple(known.items())), True)


def test_what_is_told_is_what_the_item_would_have_found_itself() -> None:
    items = items_of_the_slow_path()
    assert len(items) >= len(PAIRS)
    for item in items:
        known: dict[Question, Symbolic] = {}
        while isinstance(told := asked_for(item, known), Asks):
            known[told.question] = SYMPY.ask(*told.question)
        alone = perform("score", (packed(item), ACCURACY, False, None), True)
        assert isinstance(told, Judgement)
        assert isinstance(alone, Judgement)
        assert replace(told, elapsed_ms=0.0) == replace(alone, elapsed_ms=0.0), unpacked(packed(item))


def test_with_real_workers() -> None:
    items = [
        {"completion": f"<think>{number}</think>\\boxed{{{OTHER}}}", "gold": FORMULA} for number in range(6)
    ]
    alone = perform(
        "score", (packed(JudgeItem(rf"\boxed{{{OTHER}}}", Gold((FORMULA,)))), ACCURACY, False, None), True
    )
    assert isinstance(alone, Judgement)
    with LocalClient(workers=2) as client:
        results = client.score(items).results
    assert {(result.verdict, result.method, result.reason) for result in results} == {
        (alone.verdict, alone.method, alone.reason)
    }
