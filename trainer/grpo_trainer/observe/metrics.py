"""The numbers of a run: computed from rounds and updates, written as JSONL and for TensorBoard.

docs/training.md says what each of them means; a test holds the two together.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import fmean, pstdev
from types import TracebackType
from typing import Any, Protocol, Self

from grpo_trainer.policy import UpdateReport
from grpo_trainer.ranks import ALONE, Ranks
from grpo_trainer.sampling import Round, ScoredGroup
from grpo_trainer.verdicts import JudgeCounts, Verdict

Metrics = dict[str, float]


def round_metrics(drawn: Round, ranks: Ranks = ALONE) -> Metrics:
    """What was sampled and how it was judged, by all processes; seconds are those of the slowest."""
    told = ranks.gathered([_Told.of(group) for group in drawn.groups])
    groups = [group for part in told for group in part]
    verdicts = [verdict for group in groups for verdict in group.verdicts]
    lengths = [length for group in groups for length in group.lengths]
    counts = drawn.counts
    seconds = ranks.gathered((counts.generate_s, counts.wait_s))
    return {
        **_reward_metrics(verdicts),
        **_group_metrics(groups),
        **_length_metrics(lengths, verdicts),
        "length/truncated": sum(group.truncated for group in groups) / len(lengths),
        "sampling/max_tokens": drawn.max_tokens,
        "sampling/questions": counts.asked,
        "sampling/refills": counts.refills,
        "sampling/dropped_right": counts.dropped_right,
        "sampling/dropped_wrong": counts.dropped_wrong,
        "sampling/dropped_unjudged": counts.dropped_unjudged,
        "sampling/surplus": counts.surplus,
        "sampling/position": drawn.position,
        "time/generate": max(generate for generate, _ in seconds),
        "time/wait_for_verdicts": max(wait for _, wait in seconds),
    }


@dataclass(frozen=True, slots=True)
class _Told:
    """What the log needs of a group, without its texts and tokens: this travels between processes."""

    verdicts: tuple[Verdict, ...]
    lengths: tuple[int, ...]
    truncated: int
    right: int
    decided: int
    mixed: bool

    @classmethod
    def of(cls, group: ScoredGroup) -> "_Told":
        verdicts = tuple(Verdict(v.reward, v.outcome, v.scores) for v in group.verdicts)
        lengths = tuple(len(answer.token_ids) for answer in group.answers)
        truncated = sum(answer.truncated for answer in group.answers)
        return cls(verdicts, lengths, truncated, group.right, group.decided, group.mixed)


def _reward_metrics(verdicts: Sequence[Verdict]) -> Metrics:
    rewards = [v.reward for v in verdicts if v.reward is not None]
    outcomes = Counter(v.outcome for v in verdicts)
    decided = outcomes["right"] + outcomes["wrong"]
    result: Metrics = {f"outcome/{name}": outcomes[name] for name in ("right", "wrong", "no_verdict")}
    result["reward/judged"] = len(rewards)
    if rewards:
        result |= {"reward/mean": fmean(rewards), "reward/std": pstdev(rewards)}
    if decided:
        result["accuracy"] = outcomes["right"] / decided
    names = sorted({name for v in verdicts for name in v.scores})
    for name in names:
        scores = [s for v in verdicts if (s := v.scores.get(name)) is not None]
        if scores:
            result[f"score/{name}"] = fmean(scores)
    return result


def _group_metrics(groups: Sequence[_Told]) -> Metrics:
    decided = [g for g in groups if g.decided]
    return {
        "groups/all_right": _share(g.right == g.decided for g in decided),
        "groups/all_wrong": _share(g.right == 0 for g in decided),
        "groups/mixed": _share(g.mixed for g in decided),
    }


def _length_metrics(lengths: Sequence[int], verdicts: Sequence[Verdict]) -> Metrics:
    result: Metrics = {"length/mean": fmean(lengths), "length/longest": max(lengths)}
    for outcome in ("right", "wrong"):
        some = [n for n, v in zip(lengths, verdicts, strict=True) if v.outcome == outcome]
        if some:
            result[f"length/{outcome}"] = fmean(some)
    return result


def _share(flags: Iterable[bool]) -> float:
    values = list(flags)
    return fmean(values) if values else 0.0


def update_metrics(report: UpdateReport) -> Metrics:
    """What an update did."""
    return {
        "policy/loss": report.loss,
        "policy/grad_norm": report.grad_norm,
        "policy/lr": report.lr,
        "policy/tokens": report.tokens,
        "policy/stepped": float(report.stepped),
        **{f"policy/{name}": value for name, value in report.means.items()},
        **{f"policy/{name}_max": value for name, value in report.highest.items()},
    }


def judge_metrics(counts: JudgeCounts, ranks: Ranks = ALONE) -> Metrics:
    """What has happened between trainer and service so far, on all processes."""
    told = ranks.gathered(counts)
    names = ("requests", "retries", "items_again", "outages", "outage_s", "engine_changes")
    totals: Metrics = {f"verifier/{name}": sum(getattr(one, name) for one in told) for name in names}
    latency = sum(one.latency_s for one in told) / max(totals["verifier/requests"], 1)
    return totals | {"verifier/latency": latency}


class Log(Protocol):
    """Where the numbers of a run go."""

    def step(self, step: int, metrics: Mapping[str, float]) -> None: ...

    def completions(self, step: int, drawn: Round, count: int) -> None: ...


class NoLog:
    """Of a process that leaves the writing to the first."""

    def step(self, step: int, metrics: Mapping[str, float]) -> None: ...

    def completions(self, step: int, drawn: Round, count: int) -> None: ...


class MetricLog:
    """metrics.jsonl, one object a step, and TensorBoard files beside it.

    resume_at: of a resumed run, the steps that are done; later lines of an earlier life are cut off.
    """

    def __init__(self, folder: Path, *, tensorboard: bool, resume_at: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "metrics.jsonl"
        rows = [row for row in read_metrics(self.path) if row["step"] <= resume_at]
        self._file = self.path.open("w", encoding="utf-8")
        self._completions = (folder / "completions.jsonl").open("a" if resume_at else "w", encoding="utf-8")
        for row in rows:
            self._file.write(json.dumps(row) + "\n")
        self._board = _summary_writer(folder, resume_at) if tensorboard else None

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        self._file.write(json.dumps({"step": step, **metrics}) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in metrics.items():
                self._board.add_scalar(name, value, step)

    def completions(self, step: int, drawn: Round, count: int) -> None:
        """Some answers in full: the first of the first groups, so that several questions are seen."""
        for group in drawn.groups[:count]:
            row = {
                "step": step,
                "prompt": group.prompt.text,
                "gold": group.problem.gold,
                "completion": group.texts[0],
                "tokens": len(group.answers[0].token_ids),
                "finish": group.answers[0].finish,
                "outcome": group.verdicts[0].outcome,
                "reward": group.verdicts[0].reward,
                "reason": group.verdicts[0].reason,
            }
            self._completions.write(json.dumps(row) + "\n")
        self._completions.flush()

    def close(self) -> None:
        self._file.close()
        self._completions.close()
        if self._board is not None:
            self._board.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The rows of a metrics.jsonl, as far as it is complete; empty where there is none."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _summary_writer(folder: Path, resume_at: int) -> Any:
    # Imported here: it is slow to import, and not every run wants it.
    writer = import_module("torch.utils.tensorboard").SummaryWriter
    return writer(str(folder / "tensorboard"), purge_step=resume_at + 1 if resume_at else None)
