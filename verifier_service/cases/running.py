"""Runs labelled cases against a judge: plain ones in batches, watched ones each in a request of its own."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from verifier_service.cases.asking import Judge, ask
from verifier_service.cases.grading import Graded, grade, worst
from verifier_service.cases.labels import Case, CaseError
from verifier_service.cases.processes import MemoryWatch, Processes
from verifier_service.cases.report import Report

MARKER = "INJECTION_MARKER"
BATCH = 64
# A batch may hold several answers that each use up their limit; only watched cases are timed.
BATCH_BUDGET_S = 60.0

Progress = Callable[[int], None]


def run_cases(cases: Sequence[Case], judge: Judge, processes: Processes, progress: Progress) -> Report:
    """Judges every case once. `progress` is told how many more cases are done.

    Raises CaseError where the marker of an injection lies in a working folder before anything ran.
    """
    runner = Runner(judge, processes)
    runner.begin(cases)
    endings: dict[int, Graded] = {}
    for places in _requests(cases):
        group = [cases[place] for place in places]
        endings |= zip(places, runner.endings(group), strict=True)
        progress(len(group))
    return Report([(case, endings[place]) for place, case in enumerate(cases)], runner.pids, runner.notes)


def processes_behind(judge: Judge, url: str | None) -> Processes:
    """This process's own workers, or those of the service at `url` if it runs on this machine."""
    if url is None:
        return Processes.own()
    parts = urlsplit(url if "://" in url else f"http://{url}")
    return Processes.of_service(judge.info().pid, parts.port or (443 if parts.scheme == "https" else 80))


def _requests(cases: Sequence[Case]) -> list[list[int]]:
    """Places of the cases that go together, plain ones first: they warm the workers up."""
    plain = [place for place, case in enumerate(cases) if not case.goes_alone]
    batches = [plain[start : start + BATCH] for start in range(0, len(plain), BATCH)]
    return batches + [[place] for place, case in enumerate(cases) if case.goes_alone]


@dataclass(slots=True)
class Runner:
    """Judges groups of cases and keeps an eye on the processes meanwhile."""

    judge: Judge
    processes: Processes
    budget_s: float = BATCH_BUDGET_S
    pids: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def begin(self, cases: Sequence[Case]) -> None:
        self.notes = sorted({note for case in cases for note in (*case.notes, *self._out_of_sight(case))})
        for folder in self._folders():
            if (folder / MARKER).exists():
                raise CaseError(f"{folder / MARKER} is there before anything ran; remove it")
        self.budget_s = min(BATCH_BUDGET_S, self.judge.info().limits.max_deadline_s)
        self.judge.score([])  # the first request may have to wait for the workers to start
        self._pid()

    def endings(self, group: Sequence[Case]) -> list[Graded]:
        if len(group) == 1 and group[0].goes_alone:
            return [self._watched(group[0])]
        items = [labelled.item for case in group for labelled in case.labelled]
        results = self.judge.score(items, deadline_s=self.budget_s).results
        self._pid()
        # A plain case is one item: the n-th result is the n-th case's.
        numbered = [result.model_copy(update={"index": 0}) for result in results]
        return [grade(case, numbered[place : place + 1]) for place, case in enumerate(group)]

    def _watched(self, case: Case) -> Graded:
        before = self._owners()
        with MemoryWatch(self.processes) as memory:
            start = time.monotonic()
            answers = ask(self.judge, case, self.processes)
            seconds = time.monotonic() - start
        ending = worst(grade(case, answer.results) for answer in answers)
        breach = (
            self._executed(case) or self._crashed(case, before) or _over_limits(case, seconds, memory.peak_mb)
        )
        # What was paid for nothing stays the worse news.
        return breach if breach is not None and ending.outcome == "right" else ending

    def _executed(self, case: Case) -> Graded | None:
        if not case.must_not_execute:
            return None
        found = [folder / MARKER for folder in self._folders() if (folder / MARKER).exists()]
        for marker in found:  # so that the next case is judged by its own marker
            marker.unlink()
        if not found:
            return None
        return Graded("false_negative", "nothing executed", "executed", f"{found[0]} appeared")

    def _crashed(self, case: Case, before: tuple[int, ...]) -> Graded | None:
        after = self._owners()
        if after == before or not case.limits.must_not_crash:
            return None
        return Graded("false_negative", "no crash", f"pids {after}", f"pids before: {before}")

    def _owners(self) -> tuple[int, ...]:
        """Processes that must live through every case; below them only workers, which may be killed."""
        return (self._pid(), *self.processes.parents()[1:])

    def _pid(self) -> int:
        pid = self.judge.info().pid
        if pid not in self.pids:
            self.pids.append(pid)
        return int(pid)

    def _folders(self) -> list[Path]:
        folders = [Path.cwd(), self.processes.folder()]
        return list(dict.fromkeys(folder for folder in folders if folder is not None))

    def _out_of_sight(self, case: Case) -> list[str]:
        if self.processes.visible:
            return []
        wanted = {
            "memory not measured": case.limits.max_mem_mb is not None,
            "no worker killed": case.circumstances.kill_worker,
        }
        return [f"{what}: the workers are out of sight" for what, asked in wanted.items() if asked]


def _over_limits(case: Case, seconds: float, peak_mb: float) -> Graded | None:
    limits = case.limits
    if limits.max_seconds is not None and seconds > limits.max_seconds:
        return Graded("false_negative", f"within {limits.max_seconds:g} s", f"{seconds:.1f} s", "too slow")
    if limits.max_mem_mb is not None and peak_mb > limits.max_mem_mb:
        return Graded("false_negative", f"within {limits.max_mem_mb:g} MB", f"{peak_mb:.0f} MB", "too large")
    return None
