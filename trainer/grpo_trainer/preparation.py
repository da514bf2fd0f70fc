"""Everything a run needs, put together and checked before the first step."""

import json
from collections.abc import Callable
from copy import deepcopy
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
from grpo_trainer.policy import DTYPES, Policy
from grpo_trainer.rollout.engine import altering_samplers
from grpo_trainer.rollout.transformers_engine import TransformersEngine, stop_ids_of
from grpo_trainer.sampling import Asked, Sampler
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
    engine: TransformersEngine
    tokenizer: Any
    judge: Judge
    sampler: Sampler
    state: State
    checkpoints: Checkpoints
    output: Path
    resumed: bool


def assemble(
    config: TrainConfig,
    judge: Judge,
    say: Callable[[str], None] = print,
    *,
    resume: bool = False,
    record: bool = True,
    through: Callable[[Judge], Judging] | None = None,
) -> Parts:
    """Loads and checks everything.

    judge: open; its owner closes it.  say: told what was found.  resume: from the newest checkpoint in
    config.output.  record: whether anything is written there.  through: put between sampler and judge, for
    experiments with verdicts.
    Raises PreparationError, DataError, TemplateError, CheckpointError or PolicyError with the fix.
    """
    output = Path(config.output)
    checkpoints = Checkpoints(output / "checkpoints", config.checkpoint.keep)
    start = _start_of(config, checkpoints, resume=resume, record=record)
    state = read_state(Path(start)) if resume else State()
    judge.expect(state.engine)
    tokenizer, model = load_checkpoint(start, config)
    template = load_template(config.template, tokenizer)
    asked = _questions(config, template, judge, say)
    check_probe(template.probe(), judge)
    policy = Policy(model, config)
    if resume:
        restore(policy, Path(start))
        say(f"goes on after step {state.step}")
    if ignored := altering_samplers(model.generation_config):
        say(f"the checkpoint recommends {', '.join(ignored)}; training samples from the plain distribution")
    engine = make_engine(policy, tokenizer, config)
    engine.sync(policy.full_weights(), state.step)
    sampler = Sampler(
        engine, through(judge) if through else judge, asked, decoder(tokenizer), config, state.position
    )
    if record and not resume:
        _write_manifest(output, config, judge)
    return Parts(config, policy, engine, tokenizer, judge, sampler, state, checkpoints, output, resume)


def load_checkpoint(path: str | Path, config: TrainConfig) -> tuple[Any, Any]:
    """Tokenizer and model. Raises PreparationError if there is no such checkpoint."""
    try:
        return AutoTokenizer.from_pretrained(path), load_model(path, config)
    except OSError as error:
        raise PreparationError(f"model.path={path} cannot be loaded: {str(error).splitlines()[0]}") from error


def load_model(path: str | Path, config: TrainConfig) -> Any:
    """The policy's weights: in float32 under bfloat16 too, for updates smaller than half precision resolves."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = DTYPES[config.model.precision]
    master = torch.promote_types(dtype, torch.float32)
    model: Any = AutoModelForCausalLM.from_pretrained(path, dtype=master)
    return model.to(device)


def make_engine(policy: Policy, tokenizer: Any, config: TrainConfig) -> TransformersEngine:
    """The engine of the policy: on its very module, or on a copy in half precision."""
    model = policy.model
    if config.model.precision == "bfloat16":
        model = deepcopy(model).to(torch.bfloat16).requires_grad_(False)
    return TransformersEngine(model, stop_ids_of(policy.model, tokenizer), batch=config.sampling.batch)


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
    config: TrainConfig, template: Template, judge: Judge, say: Callable[[str], None]
) -> tuple[Asked, ...]:
    problems = load_problems(config.data)
    stop = config.data.bad_golds == "stop"
    report = check_golds(problems, judge, rules=config.reward.rules, stop=stop)
    say(report.summary())
    prepared = prepare(report.kept, template, config.data.max_prompt_tokens)
    if prepared.too_long:
        say(f"{prepared.too_long} prompts exceed data.max_prompt_tokens and are left out")
    return prepared.asked


def _start_of(config: TrainConfig, checkpoints: Checkpoints, *, resume: bool, record: bool) -> str | Path:
    """Where the weights come from. Raises CheckpointError rather than mix two runs in one folder."""
    newest = checkpoints.newest()
    if resume:
        if newest is None:
            raise CheckpointError(f"no checkpoint in {checkpoints.folder} to go on from: leave out --resume")
        return newest
    if record and (newest is not None or (Path(config.output) / "metrics.jsonl").exists()):
        raise CheckpointError(
            f"{config.output} holds a run already: --resume it, or write this one elsewhere by output=FOLDER"
        )
    return config.model.path


def _write_manifest(output: Path, config: TrainConfig, judge: Judge) -> None:
    """What ran, for the report and for whoever asks later."""
    output.mkdir(parents=True, exist_ok=True)
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
