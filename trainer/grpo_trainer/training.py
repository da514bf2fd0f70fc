"""The command `grpo train`: what it prints, and how its failures are told."""

import os
from contextlib import AbstractContextManager, closing, nullcontext

from rich.console import Console
from rich.table import Table
from transformers.utils import logging

from grpo_trainer.checkpoint import CheckpointError
from grpo_trainer.config import TrainConfig
from grpo_trainer.contradictions import advice, missing
from grpo_trainer.data import DataError
from grpo_trainer.loading import ConfigError
from grpo_trainer.loop import Rehearsal, rehearse, train
from grpo_trainer.observe.live import LiveView, Quiet, View
from grpo_trainer.plan import GIB, memory_plan, shape_of
from grpo_trainer.preparation import PreparationError, assemble
from grpo_trainer.ranks import LaunchError, Ranks, joined
from grpo_trainer.rollout.engine import RolloutError
from grpo_trainer.sampling import SamplingError
from grpo_trainer.scorer import PolicyError
from grpo_trainer.templates import TemplateError
from grpo_trainer.verdicts import Judge, VerdictError
from verifier_service.client import ServiceError

FINE, WRONG_USE, UNREACHABLE, ENGINE_FAILED = 0, 2, 3, 4
SHOWN_ANSWERS = 3
REFUSALS = (
    CheckpointError,
    ConfigError,
    DataError,
    LaunchError,
    PolicyError,
    PreparationError,
    SamplingError,
    TemplateError,
)


def run_training(
    config: TrainConfig, console: Console, errors: Console, *, resume: bool, dry_run: bool
) -> int:
    """Trains, or rehearses one batch; the exit code."""
    if lacking := missing(config):
        _tell(errors, *lacking)
        return WRONG_USE
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        with joined(config) as ranks:
            _run(config, console, ranks, resume=resume, dry_run=dry_run)
    except (VerdictError, ServiceError) as error:
        _tell(errors, f"{error}", "is the service up? verifier serve; reward.url or VERIFIER_URL says where")
        return UNREACHABLE
    except RolloutError as error:
        _tell(errors, *str(error).splitlines())
        return ENGINE_FAILED
    except REFUSALS as error:
        _tell(errors, *str(error).splitlines())
        return WRONG_USE
    return FINE


def _run(config: TrainConfig, console: Console, ranks: Ranks, *, resume: bool, dry_run: bool) -> None:
    """One process of a run; the first of them tells people how it goes."""
    if ranks.first:
        for line in advice(config):
            console.print(f"[yellow]note:[/yellow] {line}", highlight=False)
    with _view(console, ranks) as view, Judge(config.reward, view.say) as judge:
        info = judge.info()
        view.say(f"verifier {info.version} at {judge.url}, engine {info.engine}")
        parts = assemble(config, judge, view.say, resume=resume, record=not dry_run, ranks=ranks)
        with closing(parts.engine):
            if dry_run:
                rehearsal = rehearse(parts)
                if ranks.first:
                    show(console, config, rehearsal)
                return
            summary = train(parts, view)
        view.say(f"{summary.steps} steps. Checkpoint: {summary.checkpoint}. Report: {summary.report}")


def _view(console: Console, ranks: Ranks) -> AbstractContextManager[View]:
    return LiveView(console) if ranks.first else nullcontext(Quiet())


def show(console: Console, config: TrainConfig, rehearsal: Rehearsal) -> None:
    """One batch: prompts and answers as they were, rewards, memory."""
    for group in rehearsal.drawn.groups[:SHOWN_ANSWERS]:
        console.rule(f"{group.problem.id}, gold {group.problem.gold}", style="dim")
        console.print(group.prompt.text, markup=False, highlight=False, end="")
        console.print(group.texts[0], markup=False, highlight=False, style="bold")
        verdict = group.verdicts[0]
        console.print(f"{verdict.outcome.replace('_', ' ')}, reward {verdict.reward}: {verdict.reason}")
        rewards = " ".join("-" if v.reward is None else f"{v.reward:g}" for v in group.verdicts)
        console.print(f"rewards of the group: {rewards}", highlight=False)
    console.rule(style="dim")
    table = Table("metric", "value", box=None, pad_edge=False)
    for name, value in rehearsal.metrics.items():
        table.add_row(name, f"{value:.4g}")
    console.print(table)
    shape = shape_of(config)
    planned = (
        "" if shape is None else f"; grpo plan says {memory_plan(config, shape).peak / GIB:.2f} without torch"
    )
    peak = rehearsal.metrics["memory/peak_gib"]
    console.print(f"memory: {peak:.2f} GiB at the peak{planned}. {rehearsal.seconds:.1f} s for one batch")


def _tell(errors: Console, *lines: str) -> None:
    rank = os.environ.get("RANK", "0")
    speaker = "" if rank == "0" else f" of process {rank}"
    for line in lines:
        errors.print(f"error{speaker}: {line}", highlight=False, markup=False, soft_wrap=True)
