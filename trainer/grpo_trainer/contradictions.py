"""Options that cannot be meant together, and options that would do nothing: each with its fix.

`contradictions` refuses a config; `advice` lists what is allowed but seldom meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel

    from grpo_trainer.config import TrainConfig


def contradictions(config: TrainConfig) -> list[str]:
    """Every problem of the config, one line each: what is wrong, and what to write instead."""
    checks = (
        _batch,
        _sampling,
        _template,
        _loss,
        _kl,
        _reference,
        _advantage,
        _correction,
        _rollout,
        _servers,
        _staleness,
        _lora,
        _distributed,
    )
    return [problem for check in checks for problem in check(config)]


def advice(config: TrainConfig) -> list[str]:
    """What is allowed, and yet worth a second look before hours are spent on it."""
    return list(_advice(config))


def missing(config: TrainConfig) -> list[str]:
    """What a preset leaves to its user and a run cannot start without."""
    wanted = {
        "model.path": (config.model.path, "a checkpoint directory or hub name"),
        "data.train": (config.data.train, "FILE.jsonl, FILE.parquet or hf:OWNER/NAME"),
    }
    return [f"{name} is not set: give {what}" for name, (value, what) in wanted.items() if not value]


def _given(section: BaseModel, *names: str) -> list[str]:
    """Options among these that the user wrote and that hold a value."""
    return [n for n in names if n in section.model_fields_set and getattr(section, n) is not None]


def _idle(table: str, names: list[str], because: str) -> Iterator[str]:
    for name in names:
        yield f"{table}.{name} does nothing {because}: leave it out, or take it back by {table}.{name}=none"


def _changed(section: BaseModel, *names: str) -> Iterator[tuple[str, object]]:
    """Options among these that differ from their default, with that default."""
    for name in names:
        default = type(section).model_fields[name].default
        if getattr(section, name) != default:
            yield name, default


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _multiples(value: int, unit: int) -> str:
    return " or ".join(map(str, _around(value, unit)))


def _around(value: int, unit: int) -> list[int]:
    """The multiples next to a value, those above 0."""
    below, above = value // unit * unit, (value // unit + 1) * unit
    return [above] if below == 0 else [below, above]


def _batch(config: TrainConfig) -> Iterator[str]:
    batch = config.batch
    if batch.answers_per_step % batch.group_size:
        yield (
            f"batch.answers_per_step={batch.answers_per_step} is not divisible by batch.group_size="
            f"{batch.group_size}: use {_multiples(batch.answers_per_step, batch.group_size)}"
        )
    if config.steps % batch.steps_per_round:
        yield (
            f"steps={config.steps} is not divisible by the {batch.steps_per_round} updates of one round of "
            f"sampling (batch.steps_per_rollout x batch.passes): use "
            f"{_multiples(config.steps, batch.steps_per_round)}"
        )


def _sampling(config: TrainConfig) -> Iterator[str]:
    sampling = config.sampling
    steps = [s.from_step for s in sampling.length_schedule]
    if steps != sorted(set(steps)):
        yield f"sampling.length_schedule must rise: from_step is {', '.join(map(str, steps))}"
    if sampling.filter == "none":
        yield from _idle("sampling", _given(sampling, "max_refills"), 'with sampling.filter="none"')
    elif sampling.max_refills is None:
        yield (
            "sampling.filter drops groups and refills the batch, which may never end: "
            "set sampling.max_refills, for example 10"
        )


def _template(config: TrainConfig) -> Iterator[str]:
    template = config.template
    kind = f'with template.kind="{template.kind}"'
    uses = {"chat": {"system", "instruction"}, "few-shot": {"instruction", "examples", "shots"}}
    given = _given(template, "system", "instruction", "examples", "shots")
    yield from _idle("template", [n for n in given if n not in uses.get(template.kind, set())], kind)
    if template.kind != "chat" and template.chat_options:
        yield f"template.chat_options does nothing {kind}: leave it out"
    if template.kind == "few-shot" and template.examples is None:
        yield (
            'template.kind="few-shot" has no examples: set template.examples to a JSONL file of '
            '{"question", "completion"}, or choose template.kind="r1" or "plain"'
        )


def _loss(config: TrainConfig) -> Iterator[str]:
    loss = config.loss
    if loss.aggregation == "constant" and loss.length is None:
        yield (
            'loss.aggregation="constant" divides by a length that is not given: set loss.length, '
            f"commonly sampling.max_tokens ({config.sampling.longest})"
        )
    if loss.aggregation != "constant":
        yield from _idle("loss", _given(loss, "length"), f'with loss.aggregation="{loss.aggregation}"')
    if loss.surrogate == "cispo":
        yield from _idle("loss", _given(loss, "dual_clip"), 'with loss.surrogate="cispo"')
        if loss.ratio != "token":
            yield f'loss.surrogate="cispo" weighs single tokens, not loss.ratio="{loss.ratio}": use "token"'
    elif loss.dual_clip is not None and loss.dual_clip <= 1 + loss.clip_high:
        yield (
            f"loss.dual_clip={loss.dual_clip:g} lies inside the clip (1 + loss.clip_high = "
            f"{1 + loss.clip_high:g}): use 3, or any number above"
        )


def _kl(config: TrainConfig) -> Iterator[str]:
    kl = config.kl
    if kl.beta == 0:
        for name, default in _changed(kl, "estimator", "place", "times_ratio"):
            yield f"kl.{name} does nothing with kl.beta=0: set kl.beta above 0, or kl.{name}={_toml(default)}"
    if kl.place == "reward" and kl.times_ratio:
        yield 'kl.times_ratio belongs to the loss: set kl.place="loss" or kl.times_ratio=false'


def _reference(config: TrainConfig) -> Iterator[str]:
    reference, beta = config.reference, config.kl.beta
    if beta > 0 and reference.update == "none":
        yield (
            f'kl.beta={beta:g} measures from a reference model, and reference.update is "none": set '
            'reference.update="fixed" (or "replace", "ema"), or kl.beta=0'
        )
    if beta == 0 and reference.update != "none":
        parts = [f"reference.{name}=none" for name in ("update", *_given(reference, "every", "alpha"))]
        yield (
            f'reference.update="{reference.update}" keeps a model in memory that kl.beta=0 never uses: set '
            f"{' '.join(parts)}, or kl.beta above 0"
        )
    moves = reference.update in ("replace", "ema")
    update = f'reference.update="{reference.update}"'
    if moves and reference.every is None:
        yield f"{update} does not say when: set reference.every, for example 400"
    if not moves:
        yield from _idle("reference", _given(reference, "every"), f"with {update}")
    if reference.update == "ema" and reference.alpha is None:
        yield f"{update} does not say how far: set reference.alpha between 0 and 1, for example 0.6"
    if reference.update != "ema":
        yield from _idle("reference", _given(reference, "alpha"), f"with {update}")


def _advantage(config: TrainConfig) -> Iterator[str]:
    if config.advantage.scale == "none" and config.advantage.eps > 0:
        yield 'advantage.eps does nothing with advantage.scale="none": set advantage.eps=0'


def _correction(config: TrainConfig) -> Iterator[str]:
    correction = config.correction
    if config.correction_level == "none":
        level = f'with correction.level="{correction.level}"'
        if correction.level == "auto":
            level += " and the engine that trains"
        yield from _idle("correction", _given(correction, "low", "high"), level)
        for name, default in _changed(correction, "outside"):
            yield f"correction.{name} does nothing {level}: set it to {_toml(default)}"
        return
    if correction.high is None:
        if correction.level != "auto":
            yield "correction.level weighs by a ratio that needs a bound: set correction.high, for example 2"
    elif correction.high <= (correction.low or 0):
        yield (
            f"correction.high={correction.high:g} is not above correction.low={correction.low or 0:g}: "
            "use bounds around 1"
        )


USED_BY = {
    "vllm": ("weights", "gpu_memory", "sleep", "sync_timeout_s", "silence_s", "probe", "probe_gap", "on_gap"),
    "vllm-server": (
        "servers",
        "weights",
        "timeout_s",
        "sync_timeout_s",
        "silence_s",
        "outage_s",
        "probe",
        "probe_gap",
        "on_gap",
    ),
}
"""Options of [rollout] that belong to an engine; engine and staleness belong to all."""
COLDEST = 0.01
"""vLLM raises lower temperatures to this one, and says so in its log alone."""


def _rollout(config: TrainConfig) -> Iterator[str]:
    rollout = config.rollout
    engine = f'with rollout.engine="{rollout.engine}"'
    used = USED_BY.get(rollout.engine, ())
    owned = dict.fromkeys(name for names in USED_BY.values() for name in names)
    for name, default in _changed(rollout, *(name for name in owned if name not in used)):
        where = " or ".join(f'"{e}"' for e, names in USED_BY.items() if name in names)
        shown = "none" if default is None else "[]" if default == () else _toml(default)
        yield f"rollout.{name} does nothing {engine}: set rollout.engine to {where}, or rollout.{name}={shown}"
    if rollout.engine == "transformers":
        return
    if rollout.probe == 0:
        for name, _ in _changed(rollout, "probe_gap", "on_gap"):
            yield f"rollout.{name} does nothing with rollout.probe=0: set rollout.probe=8, or leave it out"
    if config.model.precision == "float64":
        yield f'vLLM has no float64: set model.precision="float32", or rollout.engine="transformers" ({engine})'
    if rollout.engine == "vllm" and config.distributed.engine != "none":
        yield (
            f'rollout.engine="vllm" samples in one process, and distributed.engine="{config.distributed.engine}" has '
            'several: set rollout.engine="vllm-server" and rollout.servers'
        )
    if config.sampling.temperature < COLDEST:
        yield (
            f"sampling.temperature={config.sampling.temperature:g}: vLLM draws at no less than {COLDEST}, so the "
            f"log-probabilities would differ: raise it, or set rollout.engine=transformers"
        )


def _servers(config: TrainConfig) -> Iterator[str]:
    servers = config.rollout.servers
    if config.rollout.engine != "vllm-server":
        return
    if not servers:
        yield (
            'rollout.engine="vllm-server" has no servers: set rollout.servers=["http://HOST:PORT"], or '
            'rollout.engine="vllm" to sample in this process'
        )
    for url in servers:
        if not url.startswith(("http://", "https://")):
            yield f'rollout.servers: "{url}" is no base URL: write http://HOST:PORT'
    if len({url.rstrip("/") for url in servers}) < len(servers):
        yield "rollout.servers names one server twice: name each once"


def _staleness(config: TrainConfig) -> Iterator[str]:
    rollout = config.rollout
    if rollout.staleness == 0:
        return
    if rollout.engine == "transformers":
        yield (
            "rollout.staleness=1 draws while the weights change, and the engine transformers samples from those "
            'very weights: set rollout.engine="vllm-server" (or "vllm"), or rollout.staleness=0'
        )
    if rollout.engine == "vllm" and rollout.sleep:
        yield (
            f"rollout.staleness=1 draws during the update, and rollout.sleep={rollout.sleep} puts the engine to "
            "sleep for it: set rollout.sleep=0, or rollout.staleness=0"
        )
    if config.distributed.engine != "none" and config.sampling.filter != "none":
        yield (
            "rollout.staleness=1 draws during the update, and with several processes sampling.filter needs them "
            'all for it: set sampling.filter="none" sampling.max_refills=none, or rollout.staleness=0'
        )
    if config.correction.level == "none":
        yield (
            "rollout.staleness=1 samples from older weights, and correction.level=none takes no account of it: "
            "set correction.level=auto (or token, or sequence)"
        )


def _lora(config: TrainConfig) -> Iterator[str]:
    lora, update = config.lora, config.reference.update
    if lora.rank is None:
        for name, default in _changed(lora, "alpha", "targets"):
            shown = _toml(default) if name == "alpha" else "[...] as by default"
            yield f"lora.{name} does nothing with lora.rank=none: set lora.rank, or lora.{name}={shown}"
        return
    if not lora.targets:
        yield "lora.targets is empty, so nothing would learn: name linear layers, for example q_proj"
    if update in ("replace", "ema"):
        yield (
            f'reference.update="{update}" moves the reference, which under lora.rank={lora.rank} is the policy '
            'without its adapters: set reference.update="fixed" reference.every=none reference.alpha=none'
        )


def _distributed(config: TrainConfig) -> Iterator[str]:
    distributed, size = config.distributed, config.distributed.world_size
    if distributed.engine == "none":
        if size not in (None, 1):
            yield (
                f'distributed.world_size={size} needs an engine: set distributed.engine="fsdp" (shards) or "ddp" '
                "(a whole model in each process)"
            )
        return
    waits = {"the verifier": ("reward.outage_s", config.reward.outage_s)}
    if config.rollout.engine == "vllm-server":
        waits["vLLM servers"] = ("rollout.outage_s", config.rollout.outage_s)
        waits["the transfer of the weights"] = ("rollout.sync_timeout_s", config.rollout.sync_timeout_s)
    for whom, (name, seconds) in waits.items():
        if distributed.timeout_s <= seconds:
            yield (
                f"distributed.timeout_s={distributed.timeout_s:g} ends the run while one process waits for "
                f"{whom}: set it above {name}={seconds:g}"
            )
    if size is not None:
        yield from uneven(config, size)


def uneven(config: TrainConfig, processes: int) -> Iterator[str]:
    """Each process answers its own questions of every step, so they have to come out even."""
    questions = config.batch.questions_per_step
    if questions % processes:
        counts = [f"{n * config.batch.group_size}" for n in _around(questions, processes)]
        yield (
            f"a step of {questions} questions (batch.answers_per_step / batch.group_size) cannot be dealt to "
            f"{processes} processes evenly: set batch.answers_per_step to {' or '.join(counts)}"
        )


def _advice(config: TrainConfig) -> Iterator[str]:
    if config.distributed.engine != "none" and config.distributed.world_size is None:
        yield (
            "distributed.world_size is not set: the run takes as many processes as come up, two at least, and "
            "grpo plan counts one"
        )
    late = [s.from_step for s in config.sampling.length_schedule if s.from_step >= config.steps]
    if late:
        yield f"sampling.length_schedule changes at step {late[0]}, but the run ends at {config.steps}"
    if config.optimizer.warmup_steps >= config.steps:
        yield f"optimizer.warmup_steps={config.optimizer.warmup_steps} outlasts the {config.steps} steps"
    if config.kl.beta > 0 and config.kl.place == "loss" and config.kl.estimator == "k1":
        yield 'kl.estimator="k1" in the loss has an expected gradient of 0: it costs much and pulls nowhere'
    if config.reward.profile in ("r1", "r1-soft") and config.data.language is None:
        yield f'profile "{config.reward.profile}" rewards a language, and data.language does not say which'
    if config.sampling.truncated == "mask" and config.reward.profile == "dapo":
        yield 'profile "dapo" punishes overlong answers; sampling.truncated="mask" takes them out of the loss'
    if config.batch.steps_per_round == 1 and config.loss.dual_clip is not None:
        yield "with one update a round every ratio is 1, so no clip can act"
    if config.batch.group_size < 4:
        yield f"batch.group_size={config.batch.group_size}: most groups will be all right or all wrong"
    if config.rollout.engine != "transformers" and config.correction.level == "none":
        yield (
            f"rollout.engine={config.rollout.engine} computes in other kernels than the trainer, and "
            "correction.level=none lets the difference bias the gradient: correction.level=auto weighs it"
        )
    if config.rollout.staleness and config.rounds == 1:
        yield "rollout.staleness=1 has nothing to draw ahead for: the run has one round"
