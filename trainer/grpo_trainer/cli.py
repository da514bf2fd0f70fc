"""The command `grpo`. Torch is imported by the commands that need it, never at the top."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from grpo_trainer import __version__
from grpo_trainer.config import TrainConfig
from grpo_trainer.contradictions import advice, missing
from grpo_trainer.loading import ConfigError, load_config, options, preset_names, preset_summary, preset_text
from grpo_trainer.plan import GIB, BatchPlan, MemoryPlan, batch_plan, memory_plan, shape_of
from grpo_trainer.serving import server_command

app = typer.Typer(name="grpo", no_args_is_help=True, add_completion=False, rich_markup_mode="markdown")

WRONG_USE = 2
T = TypeVar("T")

Preset = Annotated[
    str | None,
    typer.Option("--preset", "-p", metavar="NAME", help="Start from a shipped config (`grpo presets`)."),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="A TOML file of your own, over the preset."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE...", help="Single options, over both: `optimizer.lr=1e-6`."),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def grpo(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train a language model on verifiable rewards.

    A run is a config: a preset (`--preset r1-zero`), a file of your own (`--config mine.toml`) and single
    options (`batch.group_size=8`), each over the one before. `grpo presets` lists the papers that are
    shipped, `grpo options` every option, `grpo plan` what a config costs before anything is loaded.
    """


@app.command()
def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Print this one as it is written.")
    ] = None,
) -> None:
    """List the shipped configs, or print one with the source of each number.

    Copy one to start your own: `grpo presets r1-zero > mine.toml`, then `grpo plan --config mine.toml`.
    """
    if name is not None:
        typer.echo(_or_exit(lambda: preset_text(name)), nl=False)
        return
    table = Table("preset", "what it is", box=None, pad_edge=False)
    for preset in preset_names():
        table.add_row(f"[bold]{preset}[/bold]", preset_summary(preset))
    Console().print(table)


@app.command("options")
def list_options(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORD...]", help="Only options that contain a word: kl, length."),
    ] = None,
) -> None:
    """List every option of a run with its default and meaning.

    Names are dotted: `batch.group_size` is `group_size` in the table `[batch]` of a TOML file, and
    `batch.group_size=8` on the command line. An option without a default comes from the preset or from you.
    """
    table = Table("option", "default", "meaning", box=None, pad_edge=False)
    for name, default, text in options():
        if not words or any(word in name for word in words):
            table.add_row(f"[bold]{name}[/bold]", default, text)
    if not table.row_count:
        _exit([f"no option contains {' or '.join(words or [])}; all of them: grpo options"])
    Console().print(table)


@app.command()
def plan(
    overrides: Overrides = None,
    preset: Preset = None,
    config: ConfigFile = None,
    gpu_memory: Annotated[
        float | None, typer.Option("--gpu-memory", metavar="GIB", min=0.1, help="Say whether the run fits.")
    ] = None,
) -> None:
    """Work out what a run needs: batches, tokens, memory. Loads nothing and takes no time.

    Tokens are upper bounds, with every answer as long as allowed; memory is an estimate from them, for the
    device of each of `distributed.world_size` processes. It needs the sizes of the model: from config.json
    where `model.path` is a directory, else from `[model.shape]`. Exit code 1: the run does not fit into `--gpu-memory`.

    Try: `grpo plan --preset single-gpu-0.5b --gpu-memory 24 sampling.max_tokens=2048`
    """
    settings = _or_exit(lambda: load_config(preset, config, overrides or []))
    shape = _or_exit(lambda: shape_of(settings))
    console = Console()
    console.print(_batch_table(settings, batch_plan(settings)))
    memory = None if shape is None else memory_plan(settings, shape)
    console.print()
    if memory is None:
        console.print(
            "Memory: unknown. Set model.path to a directory with config.json, or fill \\[model.shape]."
        )
    else:
        console.print(_memory_table(settings, memory))
    if settings.rollout.engine == "vllm-server":
        console.print("\nStart each of rollout.servers with its own port, where only the trainer reaches it:")
        console.print(server_command(settings), markup=False, highlight=False, soft_wrap=True)
    for line in [*missing(settings), *advice(settings)]:
        console.print(f"[yellow]note:[/yellow] {line}", highlight=False)
    if gpu_memory is not None:
        _judge_fit(console, memory, gpu_memory)


@app.command()
def train(
    overrides: Overrides = None,
    preset: Preset = None,
    config: ConfigFile = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the newest checkpoint in `output`.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="One batch: prompts, rewards, memory. Nothing is written.")
    ] = False,
) -> None:
    """Train against a running verifier service (`verifier serve`; `reward.url` or `VERIFIER_URL`).

    Metrics, checkpoints and report go to the folder `output`. Exit codes: 2 wrong use, 3 the service cannot
    be reached, 4 the engine that draws answers failed (go on with `--resume`).

    Try: `grpo train --preset single-gpu-0.5b data.train=questions.jsonl --dry-run`
    """
    settings = _or_exit(lambda: load_config(preset, config, overrides or []))
    # Torch takes seconds to import, so nothing but this command does.
    from grpo_trainer.training import run_training

    code = run_training(settings, Console(), Console(stderr=True), resume=resume, dry_run=dry_run)
    raise typer.Exit(code)


def _judge_fit(console: Console, memory: MemoryPlan | None, gpu_memory: float) -> None:
    if memory is None:
        _exit(["--gpu-memory needs the sizes of the model: set model.path or [model.shape]"])
    needed = memory.peak / GIB
    if needed <= gpu_memory:
        console.print(f"[green]fits[/green]: {needed:.1f} of {gpu_memory:g} GiB")
        return
    console.print(
        f"[red]does not fit[/red]: {needed:.1f} of {gpu_memory:g} GiB. What helps, in this order: "
        "batch.micro_batch, sampling.batch, model.gradient_checkpointing=true, sampling.max_tokens, lora.rank=32, "
        "more devices with distributed.engine=fsdp (docs/scaling-training.md)"
    )
    raise typer.Exit(1)


def _batch_table(config: TrainConfig, counts: BatchPlan) -> Table:
    table = Table("batches", "", "", box=None, pad_edge=False)
    batch = config.batch
    how = {
        "processes": "distributed.world_size",
        "rounds": "of sampling: steps / (steps_per_rollout x passes)",
        "steps": "updates of the weights",
        "questions_per_step": f"answers / group size {batch.group_size}",
        "answers_per_step": "batch.answers_per_step",
        "micro_batches_per_step": f"on each process, of {batch.micro_batch} answers; never changes the gradient",
        "questions_per_rollout": f"of one step x {batch.steps_per_rollout}",
        "answers_per_rollout": f"of one step x {batch.steps_per_rollout}",
        "longest_answer": "tokens, at the end of the schedule",
        "tokens_per_rollout": "at most, without prompts",
        "questions": "in the whole run, repeats included",
        "answers": "in the whole run",
    }
    for field in fields(counts):
        value = getattr(counts, field.name)
        table.add_row(field.name.replace("_", " "), f"[bold]{value:,}[/bold]", how[field.name])
    table.columns[1].justify = "right"
    return table


def _memory_table(config: TrainConfig, memory: MemoryPlan) -> Table:
    table = Table("memory", "GiB", "", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    rows = {
        "weights": (memory.weights, f"{memory.parameters:,} parameters{_sharing(config)}"),
        "gradients": (memory.gradients, f"of {memory.trained:,} that learn"),
        "optimizer": (memory.optimizer, "two moments of AdamW"),
        "gathered": (memory.gathered, _gathering(config)),
        "reference": (memory.reference, f'reference.update="{config.reference.update}"'),
        "engine": (memory.engine, "the copy that answers are drawn from"),
        "engine's cache": (memory.cache, "keys and values of the answers generated at once"),
        "activations": (memory.activations, f"a micro-batch of {config.batch.micro_batch} longest answers"),
        "logits": (memory.logits, f"chunks of {config.model.head_chunk} tokens"),
        "[bold]peak[/bold]": (memory.peak, _peak(config)),
    }
    for name, (size, how) in rows.items():
        table.add_row(name, f"{size / GIB:.2f}", how)
    return table


def _sharing(config: TrainConfig) -> str:
    sharded = config.distributed.engine == "fsdp"
    return f", in {config.distributed.world_size or 1} shards like the next two" if sharded else ""


def _gathering(config: TrainConfig) -> str:
    if config.distributed.engine == "fsdp":
        return "layers made whole for a pass, and their gradients"
    half = config.model.precision == "bfloat16"
    return "copies in half precision for a pass" if half else f"nothing in {config.model.precision}"


def _peak(config: TrainConfig) -> str:
    if config.rollout.engine == "vllm":
        if not config.rollout.sleep:
            return "all of it: without rollout.sleep the engine keeps its memory during the update"
        return "fixed parts + the larger of the engine with its cache and (activations + logits)"
    return "fixed parts + the larger of cache and (activations + logits)"


def _or_exit(compute: Callable[[], T]) -> T:
    """The value, or the problems of the config on stderr and exit code 2."""
    try:
        return compute()
    except ConfigError as error:
        _exit(error.problems)


def _exit(problems: Sequence[str]) -> NoReturn:
    for problem in problems:
        typer.echo(f"error: {problem}", err=True)
    raise typer.Exit(WRONG_USE)
