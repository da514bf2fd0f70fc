"""Batches on a pool that answers as it is told: what is asked of it, and how the reply is put together."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, cast

import pytest

from verifier_service.cache import Cache
from verifier_service.equivalence import Gold, GoldCheck
from verifier_service.judge import Judgement
from verifier_service.packing import JudgeItem, packed, unpacked
from verifier_service.rewards.profile import Profile, UnknownProfile, load_profiles
from verifier_service.schema import (
    GoldQuery,
    GoldsResponse,
    InvalidItem,
    Item,
    ProfileSpec,
    Result,
    RulesPatch,
    ScoreResponse,
)
from verifier_service.scoring import Scorer, item_key
from verifier_service.slow_verdicts import SlowVerdicts
from verifier_service.workers import Call, Done, Failed, Outcome, WorkerPool

PROFILES = load_profiles()
RIGHT = Judgement(1.0, {"accuracy": 1.0}, {"accuracy": 1.0}, "correct", "5", "exact", "equal", elapsed_ms=0.2)


class StubPool:
    """Answers every call at once and remembers what it was asked."""

    def __init__(self, answer: Callable[[Call], Outcome]) -> None:
        self.answer = answer
        self.asked: list[Call] = []
        self.deadlines: list[float | None] = []
        self.gate: asyncio.Event | None = None

    async def run(
        self,
        calls: Sequence[Call],
        *,
        deadline: float | None = None,
        on_done: Callable[[int, Outcome], None] | None = None,
    ) -> list[Outcome]:
        self.asked += calls
        self.deadlines += [deadline] if calls else []
        if self.gate is not None:
            await self.gate.wait()
        outcomes = [self.answer(call) for call in calls]
        for place, outcome in enumerate(outcomes if on_done is not None else ()):
            cast("Any", on_done)(place, outcome)
        return outcomes

    @property
    def profiles(self) -> list[Profile]:
        return [call.args[1] for call in self.asked]


def echoing(call: Call) -> Outcome:
    """A judgement that shows for which completion it was given."""
    return Done(replace(RIGHT, extracted=str(unpacked(call.args[0]).completion)))


class Bench:
    """A scorer on a stub, and its cache."""

    def __init__(self, answer: Callable[[Call], Outcome] = echoing, **settings: Any) -> None:
        self.pool = StubPool(answer)
        self.now = 0.0
        self.cache = Cache(1 << 20, clock=lambda: self.now)
        pool = cast("WorkerPool", self.pool)
        self.slow_cache = Cache(1 << 20, clock=lambda: self.now)
        self.scorer = Scorer(pool, self.cache, SlowVerdicts(pool, self.slow_cache), PROFILES, **settings)

    def score(self, items: Sequence[Item | InvalidItem], **options: Any) -> ScoreResponse:
        return asyncio.run(self.scorer.score(items, **options))

    def check(self, queries: Sequence[GoldQuery | InvalidItem]) -> GoldsResponse:
        return asyncio.run(self.scorer.check_golds(queries))

    def names(self) -> list[str]:
        return [profile.name for profile in self.pool.profiles]


def item(completion: str = "c", **rest: Any) -> Item:
    return Item.model_validate({"completion": completion, "gold": "5"} | rest)


def error_code(result: Result) -> str | None:
    return result.error.code if result.error is not None else None


def test_an_empty_batch_is_an_empty_answer() -> None:
    response = Bench().score([])
    assert (response.results, response.rewards, response.errors) == ([], [], 0)
    assert response.profile == "accuracy"


def test_results_stand_in_the_order_of_the_items_with_their_ids() -> None:
    response = Bench().score([item(f"c{place}", id=f"id{place}") for place in range(50)])
    assert [result.index for result in response.results] == list(range(50))
    assert [result.id for result in response.results] == [f"id{place}" for place in range(50)]
    assert [result.extracted for result in response.results] == [f"c{place}" for place in range(50)]
    assert response.rewards == [1.0] * 50


def test_a_bad_item_costs_one_item() -> None:
    items: list[Item | InvalidItem] = [
        item("a"),
        InvalidItem("items[1].completion is missing", id="x"),
        item("b"),
    ]
    response = Bench().score(items)
    assert [error_code(result) for result in response.results] == [None, "invalid_item", None]
    assert response.rewards == [1.0, None, 1.0]
    assert response.results[1].id == "x"
    assert response.errors == 1


def test_equal_items_are_judged_once_and_each_gets_the_judgement() -> None:
    bench = Bench()
    response = bench.score([item("a", id=1), item("b", id=2), item("a", id=3, group="g", info={"k": 1})])
    assert len(bench.pool.asked) == 2
    assert [result.id for result in response.results] == [1, 2, 3]
    assert [result.extracted for result in response.results] == ["a", "b", "a"]
    assert [result.cached for result in response.results] == [False, False, True]


def test_a_second_request_is_answered_from_the_cache() -> None:
    bench = Bench()
    first = bench.score([item("a"), item("b")])
    second = bench.score([item("b"), item("a")])
    assert len(bench.pool.asked) == 2
    assert all(result.cached for result in second.results)
    assert second.rewards == first.rewards
    assert [result.extracted for result in second.results] == ["b", "a"]


DIFFERING: dict[str, Any] = {
    "completion": "d",
    "gold": Gold(any_of=("6",)),
    "prompt": "?",
    "prefilled_think": True,
    "language": "en",
    "choices": ("a", "b"),
    "unit": "cm",
    "completion_tokens": 5,
    "max_tokens": 9,
    "truncated": False,
    "info": {"k": 1},
}


def test_every_field_that_bears_on_a_reward_is_in_the_key() -> None:
    assert set(DIFFERING) == {field.name for field in fields(JudgeItem)}
    chosen = Bench().scorer._chooser.for_request("r1", None)
    plain = JudgeItem("c", Gold(any_of=("5",)))
    keys = [item_key(packed(replace(plain, **{name: value})), chosen) for name, value in DIFFERING.items()]
    assert len({item_key(packed(plain), chosen), *keys}) == len(DIFFERING) + 1


@pytest.mark.parametrize(
    "one, other",
    [
        (JudgeItem("ab", Gold(("c",))), JudgeItem("a", Gold(("bc",)))),
        (JudgeItem("x", Gold(any_of=("1", "2"))), JudgeItem("x", Gold(all_of=("1", "2")))),
        (JudgeItem("x", Gold(("1", "2"))), JudgeItem("x", Gold(("1, 2",)))),
        (JudgeItem("[]", None), JudgeItem([], None)),
        (JudgeItem("\ud800", None), JudgeItem("\ud801", None)),
    ],
)
def test_neighbouring_fields_do_not_run_together_in_the_key(one: JudgeItem, other: JudgeItem) -> None:
    chosen = Bench().scorer._chooser.for_request(None, None)
    assert item_key(packed(one), chosen) != item_key(packed(other), chosen)


def test_another_profile_and_other_rules_are_other_judgements() -> None:
    bench = Bench()
    bench.score([item()])
    bench.score([item()], profile="r1-zero")
    bench.score([item()], rules=RulesPatch(echo_guard=False))
    bench.score([item(rules={"echo_guard": False})])
    bench.score([item(rules={"echo_guard": True})])
    assert len(bench.pool.asked) == 3


@pytest.mark.parametrize("code", ["queue_timeout", "deadline", "answer_timeout", "worker_lost", "internal"])
def test_a_failure_is_a_null_with_its_code_and_is_not_remembered(code: Any) -> None:
    bench = Bench(lambda call: Failed(code, "so it was"))
    for _ in range(2):
        [result] = bench.score([item()]).results
        assert (result.reward, result.verdict, error_code(result)) == (None, None, code)
        assert result.error is not None
        assert result.error.retryable == (code in {"queue_timeout", "deadline", "worker_lost"})
    assert len(bench.pool.asked) == 2


def test_an_internal_fault_inside_a_judgement_is_not_remembered_either() -> None:
    broken = Judgement(
        None, {}, {}, None, None, None, "", error_code="internal", error_message="reward broke"
    )
    bench = Bench(lambda call: Done(broken))
    bench.score([item()])
    assert error_code(bench.score([item()]).results[0]) == "internal"
    assert len(bench.pool.asked) == 2


def test_a_verdict_by_the_clock_is_remembered_for_a_minute() -> None:
    late = replace(RIGHT, reward=0.0, verdict="incorrect", reason="answer_timeout")
    bench = Bench(lambda call: Done(late))
    bench.score([item()])
    bench.now = 59.0
    assert bench.score([item()]).results[0].cached
    bench.now = 61.0
    assert not bench.score([item()]).results[0].cached


def test_explanations_are_neither_remembered_nor_taken_from_the_cache() -> None:
    bench = Bench(lambda call: Done(replace(RIGHT, explanation={"steps": []} if call.args[2] else None)))
    assert bench.score([item()]).results[0].explanation is None
    assert bench.score([item()], explain=True).results[0].explanation == {"steps": []}
    assert bench.score([item()]).results[0].explanation is None
    assert len(bench.pool.asked) == 2


def test_the_item_outranks_the_request_the_request_the_data_source_the_data_source_the_default() -> None:
    bench = Bench(default_profile="dapo", data_sources={"gsm8k": "r1-soft"})
    items = [
        item("a", profile="r1-zero"),
        item("b", data_source="gsm8k"),
        item("c", data_source="other"),
        item("d"),
    ]
    response = bench.score(items)
    assert bench.names() == ["r1-zero", "r1-soft", "dapo", "dapo"]
    assert response.profile == "dapo"
    assert response.profile_hash == PROFILES["dapo"].hash
    assert [result.profile for result in response.results] == ["r1-zero", "r1-soft", None, None]
    bench.pool.asked.clear()
    bench.cache.clear()
    bench.score(items, profile="accuracy")
    assert bench.names() == ["r1-zero", "accuracy", "accuracy", "accuracy"]


def test_rules_of_the_item_outrank_those_of_the_request_and_those_of_the_profile() -> None:
    bench = Bench()
    patch = RulesPatch(echo_guard=False, extraction="lenient")
    bench.score([item("a"), item("b", rules={"extraction": "boxed"})], rules=patch)
    rules = [profile.rules for profile in bench.pool.profiles]
    assert [(one.echo_guard, one.extraction) for one in rules] == [(False, "lenient"), (False, "boxed")]


def test_changed_rules_show_in_the_hash_of_the_profile() -> None:
    bench = Bench()
    plain = bench.score([item()]).profile_hash
    changed = bench.score([item()], rules=RulesPatch(echo_guard=False)).profile_hash
    unchanged = bench.score([item()], rules=RulesPatch(echo_guard=True)).profile_hash
    assert plain == unchanged == PROFILES["accuracy"].hash
    assert changed != plain


def test_a_profile_may_come_with_the_request_or_with_the_item() -> None:
    spec = ProfileSpec.model_validate({"schema": 1, "rewards": {"format": {"weight": 0.5}}})
    bench = Bench()
    response = bench.score([item("a")], profile=spec)
    bench.score([item("b", profile=spec.model_dump(by_alias=True))])
    assert [profile.rewards[0].name for profile in bench.pool.profiles] == ["format", "format"]
    assert response.profile == "inline"


def test_an_unknown_profile_of_the_request_is_refused_and_one_of_an_item_costs_the_item() -> None:
    with pytest.raises(UnknownProfile, match='Nearest: "r1-zero"'):
        Bench().score([item()], profile="r1-zreo")
    with pytest.raises(UnknownProfile):
        Bench(default_profile="r1-zreo")
    with pytest.raises(UnknownProfile):
        Bench(data_sources={"gsm8k": "r1-zreo"})
    response = Bench().score([item("a"), item("b", profile="r1-zreo"), item("c")])
    assert [error_code(result) for result in response.results] == [None, "invalid_item", None]


def test_a_bad_inline_profile_and_an_unknown_language_cost_their_items() -> None:
    bad = {"schema": 1, "rewards": {"akkuracy": {}}}
    response = Bench().score([item("a", profile=bad), item("b", language="klingon"), item("c")])
    assert [error_code(result) for result in response.results] == ["invalid_item", "invalid_item", None]
    assert response.results[1].error is not None
    assert "klingon" in response.results[1].error.message


def test_aliases_that_differ_and_misspelt_keys_are_warnings() -> None:
    response = Bench().score([item("a", answer="6"), item("b", complettion="x"), item("c", answer="5")])
    assert [len(result.warnings) for result in response.results] == [1, 1, 0]


def test_info_is_echoed_on_request_only() -> None:
    bench = Bench()
    assert bench.score([item(info={"row": 3}, extra="e")]).results[0].info is None
    [result] = bench.score([item(info={"row": 3}, extra="e")], echo_info=True).results
    assert result.info == {"row": 3, "extra": "e"}
    assert result.cached


def test_warnings_of_the_judge_come_after_those_of_the_reading() -> None:
    bench = Bench(lambda call: Done(replace(RIGHT, warnings=("zero_width_removed",))))
    [result] = bench.score([item(answer="6")]).results
    assert result.warnings[-1] == "zero_width_removed"
    assert len(result.warnings) == 2


def test_the_time_of_a_request_is_its_own_or_the_default_within_the_cap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("verifier_service.scoring.time.monotonic", lambda: 1000.0)
    bench = Bench(deadline_s=10.0, max_deadline_s=60.0)
    for deadline_s in (None, 3.0, 600.0):
        bench.score([item(str(deadline_s))], deadline_s=deadline_s)
    endless = Bench(deadline_s=None)
    endless.score([item()])
    assert bench.pool.deadlines == [1010.0, 1003.0, 1060.0]
    assert endless.pool.deadlines == [None]


def test_golds_are_checked_in_order_and_bad_queries_cost_one_place() -> None:
    def answer(call: Call) -> Outcome:
        [text] = call.args[0].any_of
        if text == "heavy":
            return Failed("answer_timeout", "too heavy")
        return Done(GoldCheck(True, text, None, ""))

    queries: list[GoldQuery | InvalidItem] = [
        GoldQuery(gold="a"),
        InvalidItem("golds[1].gold is missing"),
        GoldQuery(gold=None),
        GoldQuery(gold="heavy"),
        GoldQuery(gold=7),
    ]
    results = Bench(answer).check(queries).results
    assert [result.index for result in results] == [0, 1, 2, 3, 4]
    assert [result.ok for result in results] == [True, False, False, False, True]
    codes = [None, "invalid_item", "missing_input", "unverifiable_gold", None]
    assert [result.code for result in results] == codes
    assert [results[0].kind, results[4].kind] == ["a", "7"]


def test_golds_are_held_against_the_default_profile_and_their_own_rules() -> None:
    bench = Bench(lambda call: Done(GoldCheck(True, "number", None, "")))
    bench.check([GoldQuery(gold="1"), GoldQuery(gold="2", rules=RulesPatch(gold_from="literal"))])
    assert [call.args[2].gold_from for call in bench.pool.asked] == ["auto", "literal"]


def together(bench: Bench, *batches: Sequence[Item], **options: Any) -> list[ScoreResponse]:
    """The replies to batches that are under way at the same time."""

    async def all_of_them() -> list[ScoreResponse]:
        bench.pool.gate = asyncio.Event()
        sent = [asyncio.create_task(bench.scorer.score(batch, **options)) for batch in batches]
        for _ in range(10):
            await asyncio.sleep(0)
        bench.pool.gate.set()
        return list(await asyncio.gather(*sent))

    return asyncio.run(all_of_them())


def test_equal_items_of_requests_under_way_together_are_judged_once() -> None:
    bench = Bench()
    both = [item("a"), item("b")]
    replies = together(bench, both, [item("b"), item("c")], both)
    assert sorted(str(unpacked(call.args[0]).completion) for call in bench.pool.asked) == ["a", "b", "c"]
    assert [[result.extracted for result in reply.results] for reply in replies] == [
        ["a", "b"],
        ["b", "c"],
        ["a", "b"],
    ]
    assert [[result.cached for result in reply.results] for reply in replies] == [
        [False, False],
        [True, False],
        [True, True],
    ]


@pytest.mark.parametrize("code", ["answer_timeout", "worker_lost", "internal"])
def test_what_fails_for_all_fails_once(code: Any) -> None:
    bench = Bench(lambda call: Failed(code, "no"))
    replies = together(bench, [item("a")], [item("a")])
    assert [error_code(reply.results[0]) for reply in replies] == [code, code]
    assert len(bench.pool.asked) == 1


@pytest.mark.parametrize("code", ["queue_timeout", "deadline"])
def test_a_time_that_ended_for_one_request_does_not_end_for_the_other(code: Any) -> None:
    answers = iter([Failed(code, "late"), Done(RIGHT)])
    bench = Bench(lambda call: next(answers))
    replies = together(bench, [item("a")], [item("a")])
    assert [error_code(reply.results[0]) for reply in replies] == [code, None]
    assert replies[1].rewards == [1.0]


def test_a_request_that_is_abandoned_takes_no_other_with_it() -> None:
    async def one_of_two() -> ScoreResponse:
        bench.pool.gate = asyncio.Event()
        first = asyncio.create_task(bench.scorer.score([item("a"), item("b")]))
        second = asyncio.create_task(bench.scorer.score([item("b"), item("c")]))
        for _ in range(10):
            await asyncio.sleep(0)
        first.cancel()
        for _ in range(10):
            await asyncio.sleep(0)
        bench.pool.gate.set()
        return await second

    bench = Bench()
    response = asyncio.run(one_of_two())
    assert [result.extracted for result in response.results] == ["b", "c"]
    assert response.rewards == [1.0, 1.0]


def test_who_waits_for_an_equal_item_waits_no_longer_than_its_own_time() -> None:
    async def both() -> ScoreResponse:
        bench.pool.gate = asyncio.Event()
        long = asyncio.create_task(bench.scorer.score([item("a")], deadline_s=60))
        await asyncio.sleep(0)
        short = await bench.scorer.score([item("a")], deadline_s=0.01)
        bench.pool.gate.set()
        assert (await long).rewards == [1.0]
        return short

    bench = Bench()
    [result] = asyncio.run(both()).results
    assert result.error is not None
    assert (result.error.code, result.error.retryable) == ("deadline", True)


class StubShared:
    """A shared cache in a dictionary, with the few methods that the scorer uses."""

    def __init__(self) -> None:
        self.kept: dict[bytes, Judgement] = {}
        self.questions: list[int] = []

    async def get_many(self, keys: Sequence[bytes]) -> list[Judgement | None]:
        self.questions.append(len(keys))
        return [self.kept.get(key) for key in keys]

    def put(self, key: bytes, judgement: Judgement) -> None:
        self.kept[key] = judgement


def test_what_another_replica_has_judged_is_asked_for_once_a_batch() -> None:
    shared = StubShared()
    Bench(shared=shared).score([item("a"), item("b")])
    bench = Bench(shared=shared)
    response = bench.score([item("b"), item("c"), item("a")])
    assert [unpacked(call.args[0]).completion for call in bench.pool.asked] == ["c"]
    assert [result.extracted for result in response.results] == ["b", "c", "a"]
    assert [result.cached for result in response.results] == [True, False, True]
    bench.score([item("a"), item("b"), item("c")])  # all in memory now
    assert shared.questions == [2, 3]


def test_faults_of_ours_and_words_of_the_clock_are_not_shared() -> None:
    shared = StubShared()
    late = replace(RIGHT, reward=0.0, verdict="incorrect", reason="answer_timeout")
    ours = replace(RIGHT, reward=None, verdict=None, error_code="internal")
    for judged in (Done(late), Done(ours), Failed("worker_lost", ""), Failed("answer_timeout", "")):
        Bench(lambda call, judged=judged: judged, shared=shared).score([item("a")])  # type: ignore[misc]
    assert not shared.kept
