"""The real vLLM in this process, against transformers: the same answers, the same numbers, the newest weights."""

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from grpo_trainer.config import TrainConfig  # noqa: E402
from grpo_trainer.loading import load_config  # noqa: E402
from grpo_trainer.policy import Policy  # noqa: E402
from grpo_trainer.rollout import Group, RolloutError, Sampling  # noqa: E402
from grpo_trainer.rollout.transformers_engine import TransformersEngine  # noqa: E402
from grpo_trainer.rollout.vllm_engine import VllmEngine, vllm_starter  # noqa: E402
from grpo_trainer.rollout.weight_folder import WeightFolder  # noqa: E402
from grpo_trainer.syncing import LARGEST_GAP, Syncing, probe  # noqa: E402
from tests.trainer.real_vllm import MARKS, runnable_model, set_environment, write_runnable  # noqa: E402

pytestmark = MARKS

PROMPTS = [tuple(2 + (7 * i + j) % 20 for j in range(1 + i % 5)) for i in range(24)]
STOP_IDS = [1, 4]
G = 4


def config_of(*words: str) -> TrainConfig:
    return load_config("tiny-cpu", overrides=["rollout.engine=vllm", "rollout.silence_s=300", *words])


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmEngine]:
    """One for the module: starting vLLM takes longer than all of its tests."""
    folder = tmp_path_factory.mktemp("vllm")
    with pytest.MonkeyPatch.context() as patch:
        set_environment(patch)
        patch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        config = config_of()
        start = write_runnable(folder / "start")
        weights = WeightFolder(folder / "weights", torch.float32)
        yield VllmEngine(vllm_starter(start, config), STOP_IDS, weights, config)


def answered(engine: Any, sampling: Sampling) -> list[Group]:
    return sorted(engine.generate(PROMPTS, G, sampling), key=lambda group: group.place)


def test_greedy_answers_are_those_of_transformers(engine: VllmEngine) -> None:
    # Logits far apart and the lowest temperature: nothing is left to chance in either engine.
    model = runnable_model(3)
    with torch.no_grad():
        model.model.norm.weight.mul_(50)
    policy = Policy(model, config_of())
    theirs = TransformersEngine(model, STOP_IDS)
    sampling = Sampling(temperature=0.01, max_tokens=20, seed=1)
    engine.sync(policy.full_weights(), 1)
    theirs.sync(policy.full_weights(), 1)
    ours, wanted = answered(engine, sampling), answered(theirs, sampling)
    pairs = [
        (a, b)
        for one, two in zip(ours, wanted, strict=True)
        for a, b in zip(one.answers, two.answers, strict=True)
    ]
    assert [(a.token_ids, a.finish, a.version) for a, _ in pairs] == [
        (b.token_ids, b.finish, b.version) for _, b in pairs
    ]
    assert {a.finish for a, _ in pairs} == {"stop", "length"}
    assert len({a.token_ids for a, _ in pairs}) > 10


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probabilities_of_single_tokens_are_the_policys_own(
    engine: VllmEngine, temperature: float
) -> None:
    config = config_of(f"sampling.temperature={temperature}")
    policy = Policy(runnable_model(4), config)
    engine.sync(policy.full_weights(), 2)
    gap = probe(engine, policy, PROMPTS, config, seed=5)
    print(f"largest difference at temperature {temperature}: {gap.largest:.2e} nats, mean {gap.mean:.2e}")
    assert gap.largest < LARGEST_GAP
    # The probe can fail: the same answers under other weights are far away.
    assert probe(engine, Policy(runnable_model(5), config), PROMPTS, config, seed=5).largest > 0.1


def test_after_every_update_vllm_samples_from_the_new_weights(engine: VllmEngine) -> None:
    config = config_of("batch.answers_per_step=32", "batch.group_size=4", "optimizer.lr=1e-3")
    policy = Policy(runnable_model(6), config)
    said: list[str] = []
    syncing = Syncing(engine, policy, PROMPTS, said.append)
    syncing.to(0)
    start = Policy(runnable_model(6), config)
    for step in range(1, 6):
        rng = torch.Generator().manual_seed(step)
        with torch.no_grad():
            for parameter in policy.model.parameters():
                parameter.add_(0.02 * torch.randn(parameter.shape, generator=rng))
        # Raises where a single token's log-probability is off by more than 1e-3.
        syncing.to(step)
        print(f"after update {step}: {syncing.metrics['engine/probe_gap_max']:.2e} nats at most")
        assert syncing.metrics["engine/probe_gap_max"] < LARGEST_GAP
    assert probe(engine, start, PROMPTS, config, seed=0).largest > 0.1
    assert {a.version for g in answered(engine, Sampling(1.0, 4, 0)) for a in g.answers} == {5}


def test_a_stale_head_raises_the_alarm(engine: VllmEngine) -> None:
    # The trap of the CPU build: with tied embeddings it packs a head of its own, which a transfer that does
    # not name it leaves behind. Everything else is new, and answers still look right.
    config = config_of()
    policy = Policy(runnable_model(7), config)
    Syncing(engine, policy, PROMPTS, print).to(0)
    with torch.no_grad():
        policy.model.model.embed_tokens.weight.add_(0.05 * torch.randn(24, 128))

    class Forgetful:
        """The engine without the head's name in the transfer."""

        def sync(self, weights: Any, version: int) -> None:
            engine.sync(((name, weight) for name, weight in weights if name != "lm_head.weight"), version)

        def __getattr__(self, name: str) -> Any:
            return getattr(engine, name)

    forgetful: Any = Forgetful()
    with pytest.raises(RolloutError, match="does not sample from the weights it was given"):
        Syncing(forgetful, policy, PROMPTS, print).to(1)
    Syncing(engine, policy, PROMPTS, print).to(2)


def test_seeds_repeat_and_differ_between_questions(engine: VllmEngine) -> None:
    config = config_of()
    engine.sync(Policy(runnable_model(8), config).full_weights(), 0)
    same = [PROMPTS[3]] * 4
    first, again = (list(engine.generate(same, G, Sampling(1.0, 12, seed=9))) for _ in range(2))
    by_place = [sorted(groups, key=lambda g: g.place) for groups in (first, again)]
    assert [g.answers for g in by_place[0]] == [g.answers for g in by_place[1]]
    assert len({a.token_ids for g in first for a in g.answers}) > 8


def test_a_prompt_too_long_for_the_engine_is_an_error_that_says_so(engine: VllmEngine) -> None:
    with pytest.raises(RolloutError, match=r"(?s)vLLM failed.*56"):
        list(engine.generate([(2,) * 100], 1, Sampling(1.0, 4, 0)))
    # And the engine goes on.
    assert len(answered(engine, Sampling(1.0, 4, 0))) == len(PROMPTS)


def test_sleeping_and_waking_leave_it_fit_to_draw(engine: VllmEngine) -> None:
    # On a CPU both do nothing; their order is what test_vllm_engine.py holds.
    policy = Policy(runnable_model(9), config_of())
    engine._vllm.llm.sleep(level=1)
    engine._asleep = True
    with pytest.raises(RolloutError, match="sleeps"):
        list(engine.generate(PROMPTS, 1, Sampling(1.0, 4, 0)))
    Syncing(engine, policy, PROMPTS, print).to(1)
    assert len(answered(engine, Sampling(1.0, 4, 0))) == len(PROMPTS)
