"""`verifier score --ray`: Ray Data hands the chunks of a file to judges all over a cluster."""

import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

from verifier_service.commands.console import INTERRUPTED, CommandError
from verifier_service.commands.judging import JudgingOptions, opened_judge
from verifier_service.commands.parts import CHUNK_ROWS, Chunk, Parts, chunks_of, parts_at, rows_of
from verifier_service.commands.score import Record, Summary, judged_rows, stamp_of
from verifier_service.schema import ScoreResponse

# Of one judge, which is one actor of Ray: enough that its serving process is no bottleneck.
WORKERS = 4
# So many pieces of work are known to Ray at a time, with one chunk or more in each.
MOST_BLOCKS = 4096
NEEDS_RAY = CommandError("--ray needs Ray Data", 'pip install "verifier-service[server,ray]"')


@dataclass(frozen=True, slots=True)
class Job:
    """All that an actor has to know. Paths are the same on every machine."""

    source: Path
    parts: Parts
    stamp: Record
    options: JudgingOptions


class Judge:
    """An actor: one pool of workers, to which chunks come one after another."""

    def __init__(self, job: Job) -> None:
        from verifier_service.local import LocalClient

        self._job = job
        self._client = LocalClient(job.options.workers, profiles=job.options.profiles)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """The summary of the chunk, or what is wrong with this machine."""
        chunk = Chunk(**row)
        try:
            summary = self._read_back(chunk) or self._judge(chunk)
        except CommandError as fault:
            return {"rows": 0, "summary": "", "fault": str(fault)}
        return {"rows": chunk.rows, "summary": _text(summary), "fault": ""}

    def _read_back(self, chunk: Chunk) -> Summary | None:
        if not self._job.parts.path(chunk).exists():
            return None
        summary = Summary()
        for record in self._job.parts.read(chunk):
            summary.add(record)
        return summary

    def _judge(self, chunk: Chunk) -> Summary:
        job, summary = self._job, Summary()

        def judging(items: Sequence[Record]) -> ScoreResponse:
            return self._client.score(items, profile=job.options.profile, rules=job.options.rules)

        rows = rows_of(job.source, chunk)
        with job.parts.writing(chunk) as part:
            while group := list(islice(rows, CHUNK_ROWS)):
                records = judged_rows(group, judging, self._hold_to)
                part.append(records)
                for record in records:
                    summary.add(record)
        return summary

    def _hold_to(self, stamp: Record) -> None:
        for name, value in stamp.items():
            if self._job.stamp[name] != value:
                told = f"a machine of the cluster judges with {name} {value}, this one with {self._job.stamp[name]}"
                raise CommandError(told)


def score_on_ray(
    source: Path, out: Path, options: JudgingOptions, *, progress: Callable[[int], None]
) -> Summary:
    """Judges what OUT has not, chunk by chunk. `progress` is told how many more rows are done.

    Raises CommandError, also where Ray is missing or its cluster fails.
    """
    if options.url is not None:
        raise CommandError("--url is for a service; with --ray the machines of the cluster judge")
    _need_ray()
    chunks = chunks_of(source)
    with opened_judge(None, workers=1, profiles=options.profiles) as judge:
        stamp = stamp_of(judge.score([], profile=options.profile, rules=options.rules))
    parts = parts_at(out, source, chunks, stamp)
    with _cluster() as cores:
        workers = min(options.workers or WORKERS, cores)
        folder = None if options.profiles is None else options.profiles.resolve()
        here = replace(options, profiles=folder, workers=workers)
        return _run(Job(source.resolve(), parts, stamp, here), chunks, cores // workers, progress)


def _run(job: Job, chunks: list[Chunk], judges: int, progress: Callable[[int], None]) -> Summary:
    summary = Summary()
    done = 0
    try:
        for row in _judged(job, chunks, judges):
            if row["fault"]:
                raise CommandError(row["fault"], "Install one version everywhere, then start again.")
            summary.merge(_summary(row["summary"]))
            done += row["rows"]
            progress(row["rows"])
    except KeyboardInterrupt:
        told = f"stopped; {job.parts.folder} holds {done} rows or more"
        raise CommandError(told, "The same command goes on from there.", INTERRUPTED) from None
    return summary


def _judged(job: Job, chunks: list[Chunk], judges: int) -> Iterator[dict[str, Any]]:
    import ray.data

    if not chunks:
        return
    blocks = min(len(chunks), MOST_BLOCKS)
    rows = ray.data.from_items([asdict(chunk) for chunk in chunks], override_num_blocks=blocks)
    pool = ray.data.ActorPoolStrategy(size=min(judges, len(chunks)))
    judged = rows.map(Judge, fn_constructor_args=(job,), num_cpus=job.options.workers, compute=pool)
    try:
        yield from judged.iter_rows()
    except ray.exceptions.RayError as fault:
        raise CommandError(f"Ray gave up: {_cause(fault)}", "-v shows its log.") from None


def _cause(fault: BaseException) -> str:
    """The innermost reason, in one line."""
    while fault.__cause__ is not None:
        fault = fault.__cause__
    return f"{type(fault).__name__}: {str(fault).strip().splitlines()[-1]}"


def _text(summary: Summary) -> str:
    return json.dumps({field.name: getattr(summary, field.name) for field in fields(summary)})


def _summary(text: str) -> Summary:
    values = json.loads(text)
    counters = {name: Counter(values[name]) for name in ("verdicts", "codes", "warnings")}
    return Summary(**values | counters)


def _need_ray() -> None:
    # Both are read when Ray is imported: it reports its use over the network unless it is told otherwise.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if not _loud():
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray.data  # noqa: F401
    except ImportError:  # Ray raises it too where the packages of its extra [data] are missing
        raise NEEDS_RAY from None


def _loud() -> bool:
    return logging.getLogger("verifier_service").isEnabledFor(logging.INFO)


@contextmanager
def _cluster() -> Iterator[int]:
    """The cluster at RAY_ADDRESS, else one of this machine alone, for the time; how many cores it has."""
    import ray
    import ray.data

    local = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False}
    loud = _loud()
    ray.init(log_to_driver=loud, logging_level="INFO" if loud else "CRITICAL", **local)
    if not loud:
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    try:
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        yield max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        ray.shutdown()
