"""Everything a run needs, put together and checked before the first step."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

from grpo_trainer import __version__
from grpo_trainer.checkpoint import CheckpointError, Checkpoints, State, read_state, restore
from grpo_trainer.config import TrainConfig
from grpo_trainer.data import check_golds, load_problems, load_template, prepare
from grpo_trainer.plan import samples_apart
from grpo_trainer.policy import DTYPES, Policy
from grpo_trainer.ranks import ALONE, Ranks
from grpo_trainer.rollout.engine import Engine, altering_samplers
from grpo_trainer.rollout.transformers_engine import TransformersEngine, stop_ids_of
from grpo_trainer.rollout.vllm_engine import VllmEngine, vllm_starter
from grpo_trainer.rollout.vllm_fleet import VllmServers
from grpo_trainer.rollout.weight_folder import WeightFolder
from grpo_trainer.sampling import Asked, Sampler
from grpo_trainer.syncing import Syncing
from grpo_trainer.templates import Probe, Template
from grpo_trainer.verdicts import Judge, Judging

MANIFEST = "run.json"


class PreparationError(ValueError):
    """A run that must not start as it is; the message says what to change."""


@dataclass(slots=True)
class Parts:
    """A run, ready to go. resumed: its state is that of a checkpoint."""

    config: TrainConfig
    policy: Policy
    engine: Engine
    syncing: Syncing
    tokenizer: Any
    judge: Judge
    sampler: Sampler
    state: State
    checkpoints: Checkpoints
    output: Path
    resumed: bool
    ranks: Ranks


def assemble(
    config: TrainConfig,
    judge: Judge,
    say: Callable[[str], None] = print,
    *,
    resume: bool = False,
    record: bool = True,
    through: Callable[[Judge], Judging] | None = None,
    ranks: Ranks = ALONE,
) -> Parts:
    """Loads and checks everything.

    judge: open; its owner closes it.  say: told what was found.  resume: from the newest checkpoint in
    config.output.  record: whether anything is written there.  through: put between sampler and judge, for
    experiments with verdicts.  ranks: the processes of the run, all of which call this.
    Raises PreparationError, DataError, TemplateError, CheckpointError, PolicyError or RolloutError with the fix.
    """
    output = Path(config.output)
    checkpoints = Checkpoints(output / "checkpoints", config.checkpoint.keep, ranks)
    newest = _checked(config, checkpoints, resume=resume, record=record)
    state = State() if newest is None else read_state(newest)
    # Adapters go onto the checkpoint that they were trained on; all other weights come from the newest.
    start = config.model.path if newest is None or config.lora.rank is not None else newest
    judge.expect(state.engine)
    tokenizer = load_tokenizer(start)
    template = load_template(config.template, tokenizer)
    asked = _questions(config, template, judge, say, ranks)
    check_probe(template.probe(), judge)
    policy = make_policy(start, config, ranks)
    if newest is not None:
        restore(policy, newest)
        say(f"goes on after step {state.step}")
    if ignored := altering_samplers(policy.model.generation_config):
        say(f"the checkpoint recommends {', '.join(ignored)}; training samples from the plain distribution")
    engine = make_engine(policy, start, tokenizer, ranks, say)
    syncing = Syncing(engine, policy, [prompt.token_ids for _, prompt in asked], say)
    syncing.to(state.step)
    sampler = Sampler(
        engine, through(judge) if through else judge, asked, decoder(tokenizer), config, state.position, ranks
    )
    # Nobody writes into the folder before all have seen that it is free.
    ranks.wait()
    if record and not resume and ranks.first:
        _write_manifest(output, config, judge)
    return Parts(
        config, policy, engine, syncing, tokenizer, judge, sampler, state, checkpoints, output, resume, ranks
    )


def load_tokenizer(path: str | Path) -> Any:
    """Raises PreparationError if there is no such checkpoint."""
    try:
        return AutoTokenizer.from_pretrained(path)
    except OSError as error:
        raise _not_loaded(path, error) from error


def load_model(path: str | Path, config: TrainConfig, device: torch.device = ALONE.device) -> Any:
    """The policy's weights: in float32 under bfloat16 too, for updates smaller than half precision resolves.

    Under lora they are not updated, and half precision will do. Raises PreparationError as load_tokenizer.
    """
    dtype = DTYPES[config.model.precision]
    master = dtype if config.lora.rank is not None else torch.promote_types(dtype, torch.float32)
    return _loaded(path, master, device)


def _loaded(path: str | Path, dtype: torch.dtype, device: torch.device) -> Any:
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(path, dtype=dtype)
    except OSError as error:
        raise _not_loaded(path, error) from error
    return model.to(device)


def _not_loaded(path: str | Path, error: OSError) -> PreparationError:
    return PreparationError(f"model.path={path} cannot be loaded: {str(error).splitlines()[0]}")


def make_policy(start: str | Path, config: TrainConfig, ranks: Ranks) -> Policy:
    """The policy, on the device of this process.

    To be sharded, a model is read into ordinary memory, by one process of a machine after the other: whole, it
    may fit into none of their devices, nor several times into the memory of the machine.
    """
    if config.distributed.engine != "fsdp":
        return Policy(load_model(start, config, ranks.device), config, ranks)
    for _ in ranks.turns():
        policy = Policy(load_model(start, config, torch.device("cpu")), config, ranks)
    return policy


def make_engine(
    policy: Policy, start: str | Path, tokenizer: Any, ranks: Ranks, say: Callable[[str], None]
) -> Engine:
    """The engine that the config names, ready for its first sync. Raises RolloutError with the fix."""
    config = policy.config
    stop_ids = stop_ids_of(policy.model, tokenizer)
    if config.rollout.engine == "transformers":
        return TransformersEngine(sampling_model(policy, start), stop_ids, batch=config.sampling.batch)
    root = Path(config.rollout.weights or f"{config.output}/weights")
    folder = WeightFolder(root, DTYPES[config.model.precision], writes=ranks.first)
    if config.rollout.engine == "vllm":
        return VllmEngine(vllm_starter(start, config), stop_ids, folder, config)
    return VllmServers(config, stop_ids, folder, ranks, say)


def sampling_model(policy: Policy, start: str | Path) -> Any:
    """The policy's very module where that can sample, else a copy of its own."""
    config = policy.config
    if samples_apart(config):
        return _loaded(start, DTYPES[config.model.precision], policy.device).requires_grad_(False)
    return policy.model


def decoder(tokenizer: Any) -> Callable[[Any], str]:
    """Text for the verifier. Special tokens stay: <think> is one of them in many vocabularies."""

    def decode(ids: Any) -> str:
        return str(tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    return decode


def check_probe(probe: Probe, judge: Judge) -> None:
    """A perfect answer must be paid in full, or the template and the reward do not fit each other."""
    item = {
        "completion": probe.completion,
        "gold": probe.gold,
        "prompt": probe.question,
        "prefilled_think": probe.prefilled_think,
    }
    (verdict,) = judge.submit([item]).result()
    for name in ("accuracy", "format"):
        if verdict.scores.get(name, 1.0) != 1.0:
            raise PreparationError(
                f'profile "{judge.config.profile}" pays {name} {verdict.scores[name]} for a perfect answer to this '
                f"template: {probe.completion!r}. Choose another template.kind, or another reward.profile"
            )


def _questions(
    config: TrainConfig, template: Template, judge: Judge, say: Callable[[str], None], ranks: Ranks
) -> tuple[Asked, ...]:
    problems = load_problems(config.data)
    stop = config.data.bad_golds == "stop"
    asks = ranks.first
    # One asks the service about the golds, for all.
    report = ranks.from_first(
        check_golds(problems, judge, rules=config.reward.rules, stop=stop) if asks else None
    )
    say(report.summary())
    prepared = prepare(report.kept, template, config.data.max_prompt_tokens)
    if prepared.too_long:
        say(f"{prepared.too_long} prompts exceed data.max_prompt_tokens and are left out")
    return prepared.asked


def _checked(config: TrainConfig, checkpoints: Checkpoints, *, resume: bool, record: bool) -> Path | None:
    """The checkpoint to go on from. Raises CheckpointError rather than mix two runs in one folder."""
    newest = checkpoints.newest()
    if resume:
        if newest is None:
            raise CheckpointError(f"no checkpoint in {checkpoints.folder} to go on from: leave out --resume")
        return newest
    if record and (newest is not None or (Path(config.output) / "metrics.jsonl").exists()):
        raise CheckpointError(
            f"{config.output} holds a run already: --resume it, or write this one elsewhere by output=FOLDER"
        )
    return None


def _write_manifest(output: Path, config: TrainConfig, judge: Judge) -> None:
    """What ran, for the report and for whoever asks later."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PreparationError(f"output={output} cannot be made: {error}. Choose another folder") from error
    manifest = {
        "versions": {
            "grpo_trainer": __version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "verifier": {"engine": judge.engine, "profile_hash": judge.profile_hash},
        "device": "cuda" if torch.cuda.is_available() else "cpu",
        "config": config.model_dump(mode="json"),
    }
    (output / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
