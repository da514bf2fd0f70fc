"""Which requests are made for which cases, and what is watched meanwhile."""

import threading
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from verifier_service.cases.labels import CaseError, JsonObject, case_of
from verifier_service.cases.processes import Processes
from verifier_service.cases.report import Report
from verifier_service.cases.running import BATCH, MARKER, run_cases
from verifier_service.schema import ScoreResponse

OUT_OF_SIGHT = Processes(None)
CALM = {"max_seconds": 60, "must_not_crash": True}


class FakeJudge:
    """Pays whatever boxes its gold, at once. `pids`: what /info shows, one call after the other."""

    def __init__(self, pids: Sequence[int] = (1,)) -> None:
        self.requests: list[list[JsonObject]] = []
        self.threads: set[str] = set()
        self.deadlines: list[float | None] = []
        self._pids = list(pids)

    def score(self, items: Sequence[Any], *, deadline_s: float | None = None) -> ScoreResponse:
        self.requests.append(list(items))
        self.threads.add(threading.current_thread().name)
        self.deadlines.append(deadline_s)
        return response([_verdict(item) for item in items])

    def info(self) -> Any:
        pid = self._pids.pop(0) if len(self._pids) > 1 else self._pids[0]
        return SimpleNamespace(pid=pid, limits=SimpleNamespace(max_deadline_s=120.0))


def _verdict(item: JsonObject) -> str:
    return "correct" if f"\\boxed{{{item['gold']}}}" in item["completion"] else "incorrect"


def response(verdicts: Sequence[str]) -> ScoreResponse:
    results = [
        {"index": place, "status": "ok", "reward": 1.0, "verdict": verdict}
        for place, verdict in enumerate(verdicts)
    ]
    rewards = [1.0] * len(results)
    stamp = {"profile": "accuracy", "profile_hash": "h", "engine": "e", "errors": 0}
    return ScoreResponse.model_validate({"results": results, "rewards": rewards} | stamp)


def row(number: int, *, answer: int | None = None, **more: Any) -> JsonObject:
    boxed = number if answer is None else answer
    completion = f"\\boxed{{{boxed}}}"
    return {
        "id": str(number),
        "kind": "k",
        "gold": str(number),
        "completion": completion,
        "expected": True,
    } | more


def run(rows: Sequence[JsonObject], judge: FakeJudge) -> Report:
    return run_cases([case_of(one) for one in rows], judge, OUT_OF_SIGHT, lambda done: None)


def test_plain_cases_share_requests_and_keep_their_own_results() -> None:
    rows = [row(number, answer=-1 if number % 7 == 0 else None) for number in range(BATCH + 5)]
    judge = FakeJudge()
    report = run(rows, judge)
    assert [len(request) for request in judge.requests] == [0, BATCH, 5]
    missed = [case.id for case, graded in report.endings if graded.outcome != "right"]
    assert missed == [str(number) for number in range(0, BATCH + 5, 7)]


def test_a_watched_case_has_a_request_of_its_own_under_the_usual_budget() -> None:
    judge = FakeJudge()
    report = run([row(1, limits=CALM), row(2), row(3)], judge)
    assert [len(request) for request in judge.requests] == [0, 2, 1]
    assert judge.deadlines[2] is None
    assert [case.id for case, _ in report.endings] == ["1", "2", "3"]


def test_a_batch_goes_as_one_request_and_an_empty_one_as_none() -> None:
    entries = [{"gold": "1", "completion": "\\boxed{1}", "correct": True}] * 3
    judge = FakeJudge()
    rows: list[JsonObject] = [
        {"id": "b", "batch": entries, "expected": None},
        {"id": "e", "batch": [], "expected": None},
    ]
    report = run(rows, judge)
    assert [len(request) for request in judge.requests] == [0, 3, 0]
    assert report.tally(debatable=False)["right"] == 2


def test_a_burst_is_as_many_requests_and_no_two_alike() -> None:
    judge = FakeJudge()
    report = run([row(1, context={"burst": 20})], judge)
    sent = judge.requests[1:]
    assert len(sent) == 20
    assert len({request[0]["completion"] for request in sent}) == 20
    assert report.tally(debatable=False) == {
        "total": 1, "right": 1, "false_positive": 0, "false_negative": 0, "null": 0,
    }  # fmt: skip


@pytest.mark.parametrize("caller", ["worker_thread", "asyncio_executor"])
def test_a_call_from_elsewhere_comes_from_elsewhere(caller: str) -> None:
    judge = FakeJudge()
    report = run([row(1, context={"call_from": caller})], judge)
    assert judge.threads - {threading.current_thread().name}
    assert report.tally(debatable=False)["right"] == 1


def test_a_case_over_its_time_is_a_miss() -> None:
    report = run([row(1, limits={"max_seconds": 0})], FakeJudge())
    (miss,) = report.as_dict()["misses"]
    assert miss["outcome"] == "false_negative"
    assert miss["expected"] == "within 0 s"


def test_a_restarted_service_is_found_and_blamed_on_the_case() -> None:
    judge = FakeJudge(pids=[1, 1, 1, 2])
    report = run([row(1, limits=CALM), row(2, limits=CALM)], judge)
    assert report.pids == [1, 2]
    assert report.found_fault
    assert [miss["id"] for miss in report.as_dict()["misses"]] == ["1"]


def test_an_answer_that_executes_is_a_miss_and_its_marker_does_not_blame_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    judge = FakeJudge()

    def executes(items: Sequence[Any], *, deadline_s: float | None = None) -> ScoreResponse:
        if any(item["gold"] == "1" for item in items):
            Path(MARKER).touch()
        return FakeJudge.score(judge, items, deadline_s=deadline_s)

    monkeypatch.setattr(judge, "score", executes)
    report = run([row(1, must_not_execute=True), row(2, must_not_execute=True)], judge)
    assert [(miss["id"], miss["got"]) for miss in report.as_dict()["misses"]] == [("1", "executed")]
    assert not Path(MARKER).exists()


def test_an_old_marker_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(MARKER).touch()
    with pytest.raises(CaseError, match=MARKER):
        run([row(1)], FakeJudge())


def test_what_cannot_be_seen_is_said() -> None:
    rows = [row(1, limits={"max_mem_mb": 1}), row(2, context={"kill_worker_mid_request": True})]
    report = run(rows, FakeJudge())
    assert [note.partition(":")[0] for note in report.notes] == ["memory not measured", "no worker killed"]
    assert report.tally(debatable=False)["right"] == 2


def test_progress_adds_up_to_all_cases() -> None:
    done: list[int] = []
    cases = [case_of(row(number, limits=CALM if number < 3 else {})) for number in range(9)]
    run_cases(cases, FakeJudge(), OUT_OF_SIGHT, done.append)
    assert sum(done) == len(cases)
