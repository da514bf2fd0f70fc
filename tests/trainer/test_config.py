"""The config: every option explained, presets with the papers' numbers, errors that name the fix."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from grpo_trainer.config import SamplingConfig, TrainConfig
from grpo_trainer.contradictions import advice, missing
from grpo_trainer.loading import (
    ConfigError,
    load_config,
    merged,
    options,
    parse_override,
    preset_names,
    preset_summary,
    preset_text,
)

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"


def problems(*overrides: str, preset: str | None = "tiny-cpu") -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load_config(preset, overrides=overrides)
    return caught.value.problems


def problem(*overrides: str, preset: str | None = "tiny-cpu") -> str:
    found = problems(*overrides, preset=preset)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_loads_and_needs_nothing_but_model_and_data(name: str) -> None:
    config = load_config(name)
    assert config.rounds * config.batch.steps_per_round == config.steps
    assert {line.split()[0] for line in missing(config)} <= {"model.path", "data.train"}
    assert advice(config) == []
    assert preset_summary(name)


@pytest.mark.parametrize("name", preset_names())
def test_every_number_of_a_preset_carries_its_source(name: str) -> None:
    section = ""
    for line in preset_text(name).splitlines():
        if line.startswith("["):
            section = line
        number = re.match(r"\w+ = \[?(\{.*\}|-?[\d.]+(e-?\d+)?)\]?", line)
        if number and not section.startswith("[model.shape]"):
            repeated = line.startswith("clip_high") or name in ("tiny-cpu", "single-gpu-0.5b")
            assert "#" in line or repeated, f"{name}: {line}"
        if section.startswith("[model.shape]") and line.startswith("[") and name != "tiny-cpu":
            assert "#" in line, f"{name}: {line}"


PAPERS: dict[str, dict[str, Any]] = {
    "deepseekmath": {
        "batch.group_size": 64,
        "batch.answers_per_step": 1024,
        "batch.steps_per_round": 1,
        "optimizer.lr": 1e-6,
        "kl.beta": 0.04,
        "kl.place": "loss",
        "sampling.max_tokens": 1024,
        "reference.update": "fixed",
        "loss.ratio": "token",
        "loss.aggregation": "sequence",
    },
    "r1-zero": {
        "batch.questions_per_step": 32,
        "batch.group_size": 16,
        "batch.answers_per_step": 512,
        "batch.answers_per_rollout": 8192,
        "optimizer.lr": 3e-6,
        "kl.beta": 0.001,
        "steps": 10400,
        "reference.update": "replace",
        "reference.every": 400,
        "sampling.max_tokens": 32768,
        "sampling.longest": 65536,
        "loss.ratio": "sequence",
        "template.kind": "r1",
    },
    "r1": {"reward.profile": "r1", "data.language": "en", "loss.clip_high": 10, "sampling.max_tokens": 32768},
    "dr-grpo": {"advantage.scale": "none", "loss.aggregation": "constant", "loss.length": 3000, "kl.beta": 0},
    "dapo": {
        "loss.clip_low": 0.2,
        "loss.clip_high": 0.28,
        "loss.aggregation": "token",
        "sampling.filter": "accuracy",
        "sampling.max_tokens": 20480,
        "reward.profile": "dapo",
        "batch.questions_per_rollout": 512,
        "batch.group_size": 16,
        "optimizer.warmup_steps": 320,
    },
}


@pytest.mark.parametrize("name, option, value", [(n, o, v) for n, m in PAPERS.items() for o, v in m.items()])
def test_presets_hold_the_papers_numbers(name: str, option: str, value: object) -> None:
    found: Any = load_config(name)
    for part in option.split("."):
        found = getattr(found, part)
    assert found == value


def test_the_length_schedule_takes_over_at_its_step() -> None:
    sampling = load_config("r1-zero").sampling
    assert [sampling.limit_at(s) for s in (0, 8199, 8200, 10399)] == [32768, 32768, 65536, 65536]
    assert SamplingConfig.model_validate({"max_tokens": 7}).limit_at(10**6) == 7


def test_the_config_is_frozen() -> None:
    config = load_config("tiny-cpu")
    with pytest.raises(ValidationError):
        config.steps = 5  # type: ignore[misc]


def test_every_option_says_what_it_means() -> None:
    listed = list(options())
    assert len(listed) > 60
    assert [name for name, _, text in listed if len(text) < 5] == []


def test_the_docs_name_every_table_and_preset() -> None:
    page = DOCS.read_text()
    names = {name.split(".")[0] for name, _, _ in options()} | set(preset_names())
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_errors_quoted_in_the_docs_are_the_real_ones() -> None:
    blocks = re.findall(r"^\$ grpo plan (.+)\nerror: (.+)$", DOCS.read_text(), re.MULTILINE)
    assert len(blocks) >= 3
    for words, expected in blocks:
        parts = words.split()
        assert problem(*parts[2:], preset=parts[1]) == expected


def test_a_file_goes_over_the_preset_and_words_over_both(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[optimizer]\nlr = 1e-5\nwarmup_steps = 3\n")
    config = load_config("tiny-cpu", file, ["optimizer.lr=2e-5", "model.path=some/model"])
    assert (config.optimizer.lr, config.optimizer.warmup_steps) == (2e-5, 3)
    assert config.model.path == "some/model"
    assert config.sampling.max_tokens == load_config("tiny-cpu").sampling.max_tokens


@pytest.mark.parametrize(
    "word, expected",
    [
        ("steps=8", {"steps": 8}),
        ("optimizer.lr=1e-6", {"optimizer": {"lr": 1e-6}}),
        ("model.path=Qwen/Qwen2.5-0.5B", {"model": {"path": "Qwen/Qwen2.5-0.5B"}}),
        ("log.tensorboard=false", {"log": {"tensorboard": False}}),
        ('model.path="a = b"', {"model": {"path": "a = b"}}),
        ("data.train=hf:x/y?split=train", {"data": {"train": "hf:x/y?split=train"}}),
        ("output=", {"output": ""}),
        ("sampling.length_schedule=[{from_step=1, max_tokens=2}]",
         {"sampling": {"length_schedule": [{"from_step": 1, "max_tokens": 2}]}}),
    ],
)  # fmt: skip
def test_overrides_are_toml_where_they_can_be(word: str, expected: dict[str, Any]) -> None:
    assert parse_override(word) == expected


@pytest.mark.parametrize("word", ["steps", "=3", "a..b=1", ".a=1", ""])
def test_a_word_that_is_no_override_is_refused(word: str) -> None:
    with pytest.raises(ConfigError, match=r"table\.key=value"):
        parse_override(word)


def test_tables_merge_and_lists_are_replaced() -> None:
    below = {"a": {"x": 1, "y": [1, 2]}, "b": 1}
    assert merged(below, {"a": {"y": [3]}, "c": 2}) == {"a": {"x": 1, "y": [3]}, "b": 1, "c": 2}
    assert below == {"a": {"x": 1, "y": [1, 2]}, "b": 1}


def test_none_empties_what_may_be_empty_and_nothing_else() -> None:
    assert load_config("tiny-cpu", overrides=["optimizer.max_grad_norm=none"]).optimizer.max_grad_norm is None
    assert "valid number" in problem("optimizer.lr=none")


SERVED = ["distributed.engine=ddp", "rollout.engine=vllm-server", "rollout.servers=['http://a']"]


@pytest.mark.parametrize(
    "words, said",
    [
        (["batch.answers_per_step=100"], ["divisible by batch.group_size=8", "use 96 or 104"]),
        (["batch.group_size=1"], ["greater than or equal to 2"]),
        (["batch.passes=3"], ["steps=100 is not divisible", "use 99 or 102"]),
        (["kl.beta=0.1"], ['reference.update is "none"', 'reference.update="fixed"', "kl.beta=0"]),
        (["reference.update=fixed"], ["kl.beta=0 never uses", "reference.update=none"]),
        (["kl.beta=0.1", "reference.update=replace"], ["set reference.every"]),
        (["kl.beta=0.1", "reference.update=ema", "reference.every=5"], ["set reference.alpha"]),
        (["kl.beta=0.1", "reference.update=fixed", "reference.every=5"], ["reference.every=none"]),
        (["kl.beta=0.1", "reference.update=fixed", "reference.alpha=0.5"], ["reference.alpha=none"]),
        (["kl.estimator=k2"], ["does nothing with kl.beta=0", "kl.estimator=k3"]),
        (["kl.times_ratio=true"], ["kl.times_ratio=false"]),
        (["kl.beta=0.1", "reference.update=fixed", "kl.place=reward", "kl.times_ratio=true"], ["kl.place"]),
        (["loss.aggregation=constant"], ["set loss.length", "24"]),
        (["loss.length=100"], ['with loss.aggregation="sequence"', "loss.length=none"]),
        (["loss.surrogate=cispo", "loss.dual_clip=3"], ["loss.dual_clip=none"]),
        (["loss.surrogate=cispo", "loss.ratio=sequence"], ['use "token"']),
        (["loss.dual_clip=1.1"], ["inside the clip", "use 3"]),
        (["advantage.scale=none", "advantage.eps=1e-4"], ["set advantage.eps=0"]),
        (["sampling.filter=accuracy"], ["set sampling.max_refills"]),
        (["sampling.max_refills=3"], ["sampling.max_refills=none"]),
        (["sampling.length_schedule=[{from_step=9,max_tokens=9},{from_step=5,max_tokens=9}]"], ["must rise"]),
        (["correction.level=token"], ["set correction.high"]),
        (["correction.high=2"], ["correction.high=none"]),
        (["correction.outside=drop"], ["set it to truncate"]),
        (["correction.level=token", "correction.high=1", "correction.low=1"], ["is not above"]),
        (["rollout.servers=['http://a:1']"], ["does nothing", 'to "vllm-server"', "rollout.servers=[]"]),
        (["rollout.sleep=1"], ['set rollout.engine to "vllm"', "rollout.sleep=0"]),
        (["rollout.engine=vllm", "rollout.timeout_s=9"], ['"vllm-server"', "rollout.timeout_s=1800"]),
        (["rollout.engine=vllm-server"], ["has no servers", "set rollout.servers"]),
        (["rollout.engine=vllm-server", "rollout.servers=['gpu1:8000']"], ["write http://HOST:PORT"]),
        (["rollout.engine=vllm-server", "rollout.servers=['http://a','http://a/']"], ["names one server twice"]),
        (["rollout.engine=vllm", "model.precision=float64"], ['model.precision="float32"']),
        (["rollout.engine=vllm", "sampling.temperature=0.001"], ["no less than 0.01"]),
        (["rollout.engine=vllm", "rollout.probe=0", "rollout.on_gap=continue"], ["rollout.probe=8"]),
        (["rollout.staleness=1"], ['set rollout.engine="vllm-server"', "rollout.staleness=0"]),
        (["rollout.engine=vllm", "rollout.staleness=1", "rollout.sleep=2"], ["rollout.sleep=0"]),
        (["rollout.engine=vllm", "rollout.staleness=1", "correction.level=none"], ["correction.level=auto"]),
        (["rollout.engine=vllm", "distributed.engine=fsdp"], ['rollout.engine="vllm-server"']),
        (["rollout.staleness=2"], ["rollout.staleness"]),
        (["template.system=hello"], ['template.kind="plain"', "template.system=none"]),
        (["template.kind=few-shot"], ["set template.examples"]),
        (["template.chat_options={a=1}"], ["leave it out"]),
        (["lora.alpha=16"], ["set lora.rank", "lora.alpha=32"]),
        (['lora.targets=["q_proj"]'], ["set lora.rank"]),
        (["lora.rank=8", "lora.targets=[]"], ["name linear layers"]),
        (["lora.rank=8", "kl.beta=0.1", "reference.update=replace", "reference.every=2"], ['"fixed"']),
        (["distributed.world_size=2"], ['distributed.engine="fsdp"']),
        (["distributed.engine=ddp", "distributed.timeout_s=60"], ["above reward.outage_s=120"]),
        ([*SERVED, "distributed.timeout_s=150", "rollout.sync_timeout_s=60"], ["above rollout.outage_s=600"]),
        ([*SERVED, "distributed.timeout_s=150", "rollout.outage_s=60"], ["above rollout.sync_timeout_s=600"]),
        (["distributed.engine=ddp", "distributed.world_size=3"], ["a step of 16 questions", "120 or 144"]),
        (["sampling.temperature=0"], ["greater than 0"]),
        (["sampling.temperature=inf"], ["finite"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_the_fix(words: list[str], said: list[str]) -> None:
    message = problem(*words)
    assert [part for part in said if part not in message] == [], message


def test_taking_the_fix_that_a_message_offers_makes_the_config_valid() -> None:
    offered = re.findall(r"[\w.]+=none", problem("kl.beta=0", preset="r1-zero"))
    config = load_config("r1-zero", overrides=["kl.beta=0", *offered])
    assert config.reference.update == "none"


def test_all_problems_are_told_at_once() -> None:
    assert len(problems("batch.answers_per_step=100", "kl.beta=0.1", "loss.length=5")) == 3


@pytest.mark.parametrize(
    "word, said",
    [
        ("batch.group_sise=8", "Nearest: batch.group_size."),
        ("batches.group_size=8", "Nearest: batch"),
        ("beta=0.1", "Here it is kl.beta."),
        ("loss.beta=0.1", "Here it is kl.beta."),
        ("num_generations=8", "Here it is batch.group_size."),
        ("optimizer.learning_rate=1", "Here it is optimizer.lr."),
        ("sampling.top_p=0.9", "cuts the distribution"),
        ("top_k=50", "cuts the distribution"),
        ("qzxv=1", "grpo options"),
        ("reward.rules.templat=think", "no option"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest(word: str, said: str) -> None:
    assert said in problem(word)


def test_an_unknown_preset_and_a_bad_file_are_refused(tmp_path: Path) -> None:
    assert 'Nearest: "r1-zero"' in problem(preset="r1-zreo")
    broken = tmp_path / "broken.toml"
    broken.write_text("steps = = 3")
    with pytest.raises(ConfigError, match="is not TOML"):
        load_config(file=broken)
    with pytest.raises(ConfigError, match="no config file"):
        load_config(file=tmp_path / "absent.toml")


def test_a_missing_table_is_told_by_its_options() -> None:
    first, *others = problems("steps=3", preset=None)
    assert first.startswith("nothing to start from: --preset dapo|")
    told = {line.split()[0] for line in others}
    required = {name for name, default, _ in options() if not default and ".shape." not in name}
    assert told == required - {"steps"}


def test_the_service_names_the_rules() -> None:
    config = load_config("tiny-cpu", overrides=["reward.rules.template=think_answer"])
    assert config.reward.rules.template == "think_answer"
    assert "reward.rules.template" in problem("reward.rules.template=nonsense")


def test_advice_is_given_on_what_is_allowed_but_seldom_meant() -> None:
    config = load_config(
        "r1-zero",
        overrides=[
            "steps=16",
            "optimizer.warmup_steps=20",
            "kl.estimator=k1",
            "reward.profile=r1",
            "batch.group_size=2",
        ],
    )
    text = " ".join(advice(config))
    for part in (
        "changes at step 8200",
        "outlasts",
        "pulls nowhere",
        "data.language",
        "all right or all wrong",
    ):
        assert part in text


def test_the_correction_is_on_by_itself_where_engines_differ() -> None:
    assert load_config("tiny-cpu").correction_level == "none"
    differing = load_config("tiny-cpu", overrides=["rollout.engine=vllm"])
    assert differing.correction_level == "token"
    assert advice(differing) == []
    off = load_config("tiny-cpu", overrides=["rollout.engine=vllm", "correction.level=none"])
    assert off.correction_level == "none"
    assert "bias the gradient" in " ".join(advice(off))


def test_choices_of_config_and_objective_are_the_same() -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")
    from grpo_trainer import objective

    def choices(table: str, option: str) -> set[str]:
        section = TrainConfig.model_fields[table].annotation
        assert section is not None
        return set(get_args(section.model_fields[option].annotation))

    assert choices("advantage", "scale") == set(get_args(objective.Scale))
    assert choices("advantage", "baseline") == set(get_args(objective.Baseline))
    assert choices("loss", "aggregation") == set(get_args(objective.Aggregation))
    assert choices("loss", "ratio") == set(get_args(objective.RatioLevel))
    assert choices("loss", "surrogate") == set(get_args(objective.Surrogate))
    assert choices("kl", "estimator") == set(get_args(objective.KlEstimator)) - {"abs"}
    assert choices("correction", "level") == {
        "auto",
        "none",
        *get_args(objective.MismatchLevel),
    }
    assert choices("correction", "outside") == set(get_args(objective.Outside))
