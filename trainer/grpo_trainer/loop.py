"""A training run, from the first question to the report. This is the one place that knows all stages."""

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch

from grpo_trainer.config import BatchConfig
from grpo_trainer.experience import Learned, learn_from
from grpo_trainer.observe.live import View
from grpo_trainer.observe.metrics import Log, MetricLog, NoLog, judge_metrics, round_metrics, update_metrics
from grpo_trainer.observe.report import write_report
from grpo_trainer.preparation import Parts
from grpo_trainer.rollout.engine import RolloutError
from grpo_trainer.rounds import Rounds
from grpo_trainer.sampling import Round

SILENT_STEPS = 5


@dataclass(frozen=True, slots=True)
class Summary:
    """How a run ended. checkpoint: the last one."""

    steps: int
    rewards: tuple[float, ...]
    checkpoint: Path
    report: Path


def train(parts: Parts, view: View) -> Summary:
    """Runs all steps that are left: sample and score, compare, update, sync, log."""
    config, policy, state = parts.config, parts.policy, parts.state
    rewards: list[float] = []
    silence = Silence(view)
    rounds = Rounds(parts.sampler, parts.syncing, config)
    with open_log(parts) as log, kept_at_failure(parts):
        while state.step < config.steps:
            started = time.perf_counter()
            drawn = rounds.take(state.step)
            learned = learn_from(drawn, policy, config)
            metrics = told(parts, drawn, learned)
            log.completions(state.step + 1, drawn, config.log.completions)
            first = state.step + 1
            for rows in shares(len(drawn.groups), config.batch):
                updated = time.perf_counter()
                report = policy.update(learned.experience, rows, state.step + 1)
                state.step += 1
                metrics |= update_metrics(report)
                now = time.perf_counter()
                metrics |= {
                    "time/update": now - updated,
                    "time/step": now - started,
                    "memory/peak_gib": max(parts.ranks.gathered(peak_gib())),
                }
                started = now
                log.step(state.step, metrics)
                view.step(state.step, config.steps, metrics)
                rewards += [metrics["reward/mean"]] if "reward/mean" in metrics else []
                # What was sampled is told once a round, with its first step.
                metrics = {}
            silence.hear(drawn, live=bool(learned.live_P.any()))
            policy.move_reference(first, state.step)
            state.position = drawn.position
            checkpoint = save_if_due(parts, first)
            rounds.learned(state.step)
    page = write_report(parts.output) if parts.ranks.first else parts.output
    return Summary(state.step, tuple(rewards), checkpoint, page)


def open_log(parts: Parts) -> AbstractContextManager[Log]:
    """The files of the run, which one process writes."""
    if not parts.ranks.first:
        return nullcontext(NoLog())
    tensorboard = parts.config.log.tensorboard
    return MetricLog(parts.output, tensorboard=tensorboard, resume_at=parts.state.step)


def told(parts: Parts, drawn: Round, learned: Learned) -> dict[str, float]:
    """What there is to tell of a round, on all processes."""
    judged = judge_metrics(parts.judge.counts, parts.ranks)
    engine = parts.syncing.metrics | parts.engine.numbers()
    staleness = {"sampling/staleness": parts.state.step - drawn.version}
    return round_metrics(drawn, parts.ranks) | learned.metrics | judged | engine | staleness


def shares(groups: int, batch: BatchConfig) -> Iterator[list[int]]:
    """The rows of each update of a round: whole groups, share after share, as many times as it is passed."""
    size = groups // batch.steps_per_rollout * batch.group_size
    for _ in range(batch.passes):
        for number in range(batch.steps_per_rollout):
            yield list(range(number * size, (number + 1) * size))


def save_if_due(parts: Parts, first: int) -> Path:
    """A checkpoint where its time fell into the round that began with this step, and at the end of the run."""
    state, every = parts.state, parts.config.checkpoint.every
    state.engine, state.profile_hash = parts.judge.engine, parts.judge.profile_hash
    due = every is not None and state.step // every > (first - 1) // every
    if due or state.step >= parts.config.steps:
        return parts.checkpoints.save(parts.policy, parts.tokenizer, state)
    return parts.checkpoints.folder


@contextmanager
def kept_at_failure(parts: Parts) -> Iterator[None]:
    """Engines fail between two rounds: what was learned until then is kept, and can be resumed.

    Not where several processes are at work: each would have to take part, and the others may wait elsewhere.
    """
    try:
        yield
    except RolloutError:
        if parts.state.step and parts.ranks.size == 1:
            parts.checkpoints.save(parts.policy, parts.tokenizer, parts.state)
        raise


class Silence:
    """Speaks up when round after round has no group with a gradient: the run is learning nothing."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._rounds = 0

    def hear(self, drawn: Round, *, live: bool) -> None:
        self._rounds = 0 if live else self._rounds + 1
        if self._rounds and self._rounds % SILENT_STEPS == 0:
            self._view.say(f"{self._rounds} rounds without a gradient: {self._reason(drawn)}")

    def _reason(self, drawn: Round) -> str:
        judged = sum(v.judged for v in drawn.verdicts)
        truncated = sum(a.truncated for a in drawn.answers) / len(drawn.answers)
        if not judged:
            return f"no answer got a verdict ({drawn.verdicts[0].code}: {drawn.verdicts[0].reason})"
        if truncated > 0.5:
            return f"{truncated:.0%} of the answers are cut off: raise sampling.max_tokens"
        right = sum(v.outcome == "right" for v in drawn.verdicts)
        if not right:
            return "no answer is right: the questions are too hard, or the answers are not in the form wanted"
        return "all answers of a group earn the same: choose harder questions, or sampling.filter=accuracy"


def peak_gib() -> float:
    """The most memory so far: of the accelerator where there is one, else of this process."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**30
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**30 if sys.platform == "darwin" else 2**20)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One round and its gradient, without an update."""

    drawn: Round
    metrics: dict[str, float]
    seconds: float


def rehearse(parts: Parts) -> Rehearsal:
    """What `grpo train --dry-run` looks at: everything of a step but the update."""
    started = time.perf_counter()
    drawn = parts.sampler.fill(step=parts.state.step + 1, version=parts.state.step)
    learned = learn_from(drawn, parts.policy, parts.config)
    rows = next(shares(len(drawn.groups), parts.config.batch))
    parts.policy.accumulate(learned.experience, rows)
    parts.policy.optimizer.zero_grad(set_to_none=True)
    metrics = round_metrics(drawn, parts.ranks) | learned.metrics | parts.syncing.metrics
    metrics["memory/peak_gib"] = max(parts.ranks.gathered(peak_gib()))
    return Rehearsal(drawn, metrics, time.perf_counter() - started)
