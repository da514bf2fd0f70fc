import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

pytest.importorskip("torch")

from grpo_trainer import verdicts
from grpo_trainer.config import RewardConfig
from grpo_trainer.verdicts import EngineChanged, Judge, VerdictError
from verifier_service.client import AsyncClient

Answer = Callable[[int, list[dict[str, Any]]], httpx.Response]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "FIRST_PAUSE_S", 0.0)


def result(index: int, verdict: str | None, reward: float | None, **more: Any) -> dict[str, Any]:
    return {
        "index": index,
        "status": "error" if "error" in more else "ok",
        "reward": reward,
        "verdict": verdict,
    } | more


def failed(index: int, *, retryable: bool) -> dict[str, Any]:
    return result(
        index, None, None, error={"code": "queue_timeout", "message": "full", "retryable": retryable}
    )


def reply(results: list[dict[str, Any]], engine: str = "e1") -> httpx.Response:
    body = {
        "results": results,
        "rewards": [r["reward"] for r in results],
        "profile": "accuracy",
        "profile_hash": "p1",
        "engine": engine,
        "errors": sum("error" in r for r in results),
    }
    return httpx.Response(200, json=body)


@contextmanager
def judge_over(answer: Answer, said: list[str] | None = None, **options: Any) -> Iterator[Judge]:
    """A judge whose service answers its requests, numbered from 1, by a rule of the test."""
    count = 0

    def respond(request: httpx.Request) -> httpx.Response:
        nonlocal count
        count += 1
        return answer(count, json.loads(request.content)["items"])

    client = AsyncClient("http://judge", retries=0, transport=httpx.MockTransport(respond))
    notify = (said if said is not None else []).append
    with Judge(RewardConfig.model_validate(options), notify, client=client) as judge:
        yield judge


ITEMS = [{"completion": text, "gold": "1"} for text in ("right", "wrong", "none", "lost")]


def test_three_outcomes_and_the_third_is_no_zero() -> None:
    def answer(count: int, items: list[dict[str, Any]]) -> httpx.Response:
        return reply(
            [
                result(0, "correct", 1.0),
                result(1, "incorrect", 0.0),
                result(2, "no_answer", 0.0),
                failed(3, retryable=False),
            ]
        )

    with judge_over(answer) as judge:
        found = judge.submit(ITEMS).result()
    assert [v.outcome for v in found] == ["right", "wrong", "wrong", "no_verdict"]
    assert [v.reward for v in found] == [1.0, 0.0, 0.0, None]
    assert [v.judged for v in found] == [True, True, True, False]
    assert found[3].code == "queue_timeout"


def test_only_items_worth_it_are_asked_again() -> None:
    asked: list[list[str]] = []

    def answer(count: int, items: list[dict[str, Any]]) -> httpx.Response:
        asked.append([item["completion"] for item in items])
        if count == 1:
            return reply(
                [
                    result(0, "correct", 1.0),
                    failed(1, retryable=True),
                    failed(2, retryable=False),
                    failed(3, retryable=True),
                ]
            )
        return reply([result(0, "incorrect", 0.0), result(1, "correct", 1.0)])

    with judge_over(answer) as judge:
        found = judge.submit(ITEMS).result()
    assert asked == [["right", "wrong", "none", "lost"], ["wrong", "lost"]]
    assert [v.reward for v in found] == [1.0, 0.0, None, 1.0]


def test_an_item_that_never_gets_a_verdict_stays_without_one() -> None:
    def answer(count: int, items: list[dict[str, Any]]) -> httpx.Response:
        return reply([failed(place, retryable=True) for place in range(len(items))])

    with judge_over(answer) as judge:
        assert [v.reward for v in judge.submit(ITEMS).result()] == [None] * 4
        assert judge.counts.requests == verdicts.ITEM_TRIES


@pytest.mark.parametrize("how", ["refused", "timeout", "503", "502", "429"])
def test_an_outage_is_waited_for_and_told(how: str) -> None:
    def answer(count: int, items: list[dict[str, Any]]) -> httpx.Response:
        if count <= 4:
            if how == "refused":
                raise httpx.ConnectError("connection refused")
            if how == "timeout":
                raise httpx.ReadTimeout("too slow")
            return httpx.Response(int(how), text="busy")
        return reply([result(place, "correct", 1.0) for place in range(len(items))])

    said: list[str] = []
    with judge_over(answer, said) as judge:
        assert [v.reward for v in judge.submit(ITEMS).result()] == [1.0] * 4
        assert (judge.counts.retries, judge.counts.outages) == (4, 1)
    assert len(said) == 2
    assert "does not answer" in said[0]
    assert "answers again" in said[1]


def test_an_outage_beyond_the_limit_stops_the_run() -> None:
    def answer(count: int, items: list[dict[str, Any]]) -> httpx.Response:
        raise httpx.ConnectError("connection refused")

    with (
        judge_over(answer, outage_s=0) as judge,
        pytest.raises(VerdictError, match=r"reward\.outage_s.*--resume"),
    ):
        judge.submit(ITEMS).result()


def test_a_fault_of_ours_is_not_an_outage() -> None:
    def answer(count: int, items: list[dict[str, Any]]) -> httpx.Response:
        return httpx.Response(422, json={"status": 422, "title": "no such profile", "detail": "r1-zreo"})

    with judge_over(answer) as judge, pytest.raises(VerdictError, match="r1-zreo"):
        judge.submit(ITEMS).result()


def test_something_else_that_answers_is_asked_a_few_times_and_then_named() -> None:
    def answer(count: int, items: list[dict[str, Any]]) -> httpx.Response:
        return httpx.Response(200, json={"hello": "world"})

    with judge_over(answer) as judge, pytest.raises(VerdictError, match="did not reply as this service does"):
        judge.submit(ITEMS).result()


def _changing(count: int, items: list[dict[str, Any]]) -> httpx.Response:
    return reply([result(0, "correct", 1.0)], engine=f"e{count}")


def test_another_engine_in_mid_run_stops_it() -> None:
    with judge_over(_changing) as judge:
        judge.submit(ITEMS[:1]).result()
        with pytest.raises(EngineChanged, match=r"from e1 to e2.*on_engine_change=continue"):
            judge.submit(ITEMS[:1]).result()


def test_another_engine_after_a_resume_stops_it() -> None:
    with judge_over(_changing) as judge:
        judge.expect("e0")
        with pytest.raises(EngineChanged, match="from e0 to e1"):
            judge.submit(ITEMS[:1]).result()


def test_another_engine_is_accepted_where_the_config_says_so() -> None:
    said: list[str] = []
    with judge_over(_changing, said, on_engine_change="continue") as judge:
        assert [judge.submit(ITEMS[:1]).result()[0].reward for _ in range(3)] == [1.0] * 3
        assert judge.counts.engine_changes == 2
    assert any("changed from e1 to e2" in text for text in said)


def test_no_more_groups_are_in_flight_than_allowed() -> None:
    running = highest = 0

    async def respond(request: httpx.Request) -> httpx.Response:
        nonlocal running, highest
        running += 1
        highest = max(highest, running)
        await asyncio.sleep(0)
        running -= 1
        return reply([result(0, "correct", 1.0)])

    client = AsyncClient("http://judge", transport=httpx.MockTransport(respond))
    with Judge(RewardConfig(in_flight=3), client=client) as judge:
        for future in [judge.submit(ITEMS[:1]) for _ in range(20)]:
            future.result()
    assert 1 < highest <= 3


def test_closing_does_not_wait_for_a_service_that_is_away() -> None:
    def answer(count: int, items: list[dict[str, Any]]) -> httpx.Response:
        raise httpx.ConnectError("connection refused")

    with judge_over(answer) as judge:
        future = judge.submit(ITEMS)
    assert future.cancelled()
