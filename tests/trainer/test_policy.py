import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

from grpo_trainer.batches import Sequences  # noqa: E402
from grpo_trainer.config import OptimizerConfig, TrainConfig  # noqa: E402
from grpo_trainer.loading import load_config  # noqa: E402
from grpo_trainer.policy import Experience, Policy, learning_rate  # noqa: E402
from grpo_trainer.scorer import PolicyError  # noqa: E402
from tests.trainer.tiny_models import tiny_model  # noqa: E402

ANSWERS = 16


def config_of(*words: str) -> TrainConfig:
    return load_config("tiny-cpu", overrides=["batch.answers_per_step=16", *words])


def sequences(seed: int = 0) -> Sequences:
    """Answers of very different lengths behind prompts of very different lengths."""
    random = torch.Generator().manual_seed(seed)

    def tokens(most: int) -> tuple[int, ...]:
        length = int(torch.randint(1, most + 1, (1,), generator=random))
        return tuple(torch.randint(2, 24, (length,), generator=random).tolist())

    return Sequences(tuple(tokens(7) for _ in range(ANSWERS)), tuple(tokens(13) for _ in range(ANSWERS)))


def experience(policy: Policy, **changes: Any) -> Experience:
    some = sequences()
    advantages_B = torch.linspace(-1.5, 1.5, ANSWERS, dtype=torch.float64)
    return Experience(**{"sequences": some, "mask_BT": some.mask(), "advantages_B": advantages_B} | changes)


def gradient(policy: Policy, batch: Experience) -> Tensor:
    policy.optimizer.zero_grad()
    policy.accumulate(batch, range(ANSWERS))
    return torch.cat([p.grad.flatten() for p in policy.model.parameters() if p.grad is not None])


AGGREGATIONS = [
    ["loss.aggregation=sequence"],
    ["loss.aggregation=token"],
    ["loss.aggregation=constant", "loss.length=13"],
]


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_the_gradient_does_not_depend_on_the_number_of_micro_batches(aggregation: list[str]) -> None:
    found = []
    for size in (16, 8, 2, 1):
        words = ["model.precision=float64", f"batch.micro_batch={size}", *aggregation]
        words += ["kl.beta=0.1", "reference.update=fixed", "loss.entropy_coef=0.01"]
        policy = Policy(tiny_model().double(), config_of(*words))
        old_BT = policy.logprobs(sequences()) - 0.1
        found.append(gradient(policy, experience(policy, old_BT=old_BT, ref_BT=old_BT + 0.2)))
    for other in found[1:]:
        assert float((other - found[0]).norm() / found[0].norm()) < 1e-12


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_the_gradient_does_not_depend_on_the_chunks_of_the_head(chunk: int) -> None:
    whole = Policy(tiny_model().double(), config_of("model.precision=float64"))
    cut = Policy(tiny_model().double(), config_of("model.precision=float64", f"model.head_chunk={chunk}"))
    torch.testing.assert_close(
        gradient(cut, experience(cut)), gradient(whole, experience(whole)), rtol=1e-10, atol=1e-14
    )


def test_the_gradient_does_not_depend_on_checkpointing() -> None:
    plain = Policy(tiny_model().double(), config_of("model.precision=float64"))
    words = ["model.precision=float64", "model.gradient_checkpointing=true"]
    recomputed = Policy(tiny_model().double(), config_of(*words))
    torch.testing.assert_close(
        gradient(recomputed, experience(recomputed)), gradient(plain, experience(plain))
    )


def test_the_gradient_is_that_of_the_formula_written_out() -> None:
    policy = Policy(tiny_model().double(), config_of("model.precision=float64"))
    batch = experience(policy)
    found = gradient(policy, batch)
    model = tiny_model().double()
    total: Any = 0.0
    for prompt, answer, advantage in zip(
        batch.sequences.prompts, batch.sequences.answers, batch.advantages_B, strict=True
    ):
        logits = model(input_ids=torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]
        logprobs = logits.log_softmax(-1).gather(-1, torch.tensor(answer)[:, None])
        total = total - advantage * logprobs.mean() / ANSWERS
    total.backward()
    expected = torch.cat([p.grad.flatten() for p in model.parameters()])
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-14)


def test_the_temperature_divides_the_logits() -> None:
    some = sequences()
    policy = Policy(tiny_model(), config_of("sampling.temperature=0.5"))
    prompt, answer = some.prompts[0], some.answers[0]
    logits = policy.model(input_ids=torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1] / 0.5
    expected = logits.log_softmax(-1).gather(-1, torch.tensor(answer)[:, None]).squeeze(-1)
    torch.testing.assert_close(policy.logprobs(some)[0, : len(answer)], expected, rtol=1e-4, atol=1e-5)


def test_a_masked_answer_changes_nothing() -> None:
    policy = Policy(tiny_model().double(), config_of("model.precision=float64"))
    batch = experience(policy)
    mask_BT = batch.mask_BT.clone()
    mask_BT[3] = False
    masked = gradient(policy, experience(policy, mask_BT=mask_BT))
    advantages_B = batch.advantages_B.clone()
    advantages_B[3] = 1000.0
    again = gradient(policy, experience(policy, mask_BT=mask_BT, advantages_B=advantages_B))
    torch.testing.assert_close(masked, again)


def test_an_update_makes_praised_answers_likelier_and_blamed_ones_less() -> None:
    policy = Policy(tiny_model(), config_of("optimizer.lr=1e-3", "optimizer.warmup_steps=0"))
    batch = experience(policy)
    before = policy.logprobs(batch.sequences).sum(-1)
    report = policy.update(batch, range(ANSWERS), 1)
    change_B = policy.logprobs(batch.sequences).sum(-1) - before
    assert float((change_B * batch.advantages_B).sum()) > 0
    assert report.means["ratio"] == 1.0
    assert 0 < report.grad_norm < math.inf
    assert report.tokens == int(batch.mask_BT.sum())


def test_a_batch_without_advantages_moves_nothing_whatever_adam_remembers() -> None:
    policy = Policy(tiny_model(), config_of("optimizer.weight_decay=0.1"))
    policy.update(experience(policy), range(ANSWERS), 1)
    before = [p.detach().clone() for p in policy.model.parameters()]
    nothing = experience(policy, advantages_B=torch.zeros(ANSWERS))
    assert not policy.update(nothing, range(ANSWERS), 2).stepped
    assert all(torch.equal(a, b) for a, b in zip(before, policy.model.parameters(), strict=True))


def test_a_gradient_that_is_not_finite_stops_the_run() -> None:
    policy = Policy(tiny_model(), config_of())
    advantages_B = torch.full((ANSWERS,), math.nan)
    with pytest.raises(PolicyError, match="step 3 is not finite"):
        policy.update(experience(policy, advantages_B=advantages_B), range(ANSWERS), 3)


def test_the_gradient_is_clipped_to_its_limit() -> None:
    policy = Policy(tiny_model(), config_of("optimizer.max_grad_norm=0.01"))
    policy.accumulate(experience(policy), range(ANSWERS))
    assert policy._clip() > 0.01
    assert policy._clip() == pytest.approx(0.01, rel=1e-3)


def test_half_precision_computes_in_halves_and_keeps_whole_weights() -> None:
    half = Policy(tiny_model(), config_of("model.precision=bfloat16"))
    whole = Policy(tiny_model(), config_of())
    assert {p.dtype for p in half.model.parameters()} == {torch.float32}
    batch = experience(half)
    a, b = half.logprobs(batch.sequences), whole.logprobs(batch.sequences)
    assert 0 < float((a - b).abs().max()) < 0.1
    assert half.update(batch, range(ANSWERS), 1).stepped


def test_the_reference_is_replaced_every_so_many_steps() -> None:
    words = ["kl.beta=0.1", "reference.update=replace", "reference.every=4"]
    policy = Policy(tiny_model(), config_of(*words))
    some = sequences()
    policy.update(experience(policy, ref_BT=policy.reference_logprobs(some)), range(ANSWERS), 1)
    assert not policy.move_reference(1, 3)
    assert not torch.equal(policy.logprobs(some), policy.reference_logprobs(some))
    assert policy.move_reference(4, 4)
    assert torch.equal(policy.logprobs(some), policy.reference_logprobs(some))
    assert policy.move_reference(5, 8)
    assert not policy.move_reference(5, 7)


def test_the_reference_follows_by_its_share() -> None:
    words = ["kl.beta=0.1", "reference.update=ema", "reference.every=1", "reference.alpha=0.25"]
    policy = Policy(tiny_model(), config_of(*words))
    start = next(policy.model.parameters()).detach().clone()
    ref_BT = policy.reference_logprobs(sequences())
    policy.update(experience(policy, ref_BT=ref_BT), range(ANSWERS), 1)
    policy.move_reference(1, 1)
    reference: Any = policy.reference
    moved, now = next(reference.parameters()), next(policy.model.parameters()).detach()
    torch.testing.assert_close(moved, start + 0.25 * (now - start))


def test_without_kl_there_is_no_reference_in_memory() -> None:
    policy = Policy(tiny_model(), config_of())
    assert policy.reference is None
    with pytest.raises(PolicyError, match="keeps no reference"):
        policy.reference_logprobs(sequences())


def test_a_model_that_changes_its_logits_after_the_head_is_refused() -> None:
    class Scaled(type(tiny_model())):  # type: ignore[misc]
        def forward(self, *args: Any, **options: Any) -> Any:
            output = super().forward(*args, **options)
            output.logits = output.logits * 3
            return output

    model = tiny_model()
    model.__class__ = Scaled
    with pytest.raises(PolicyError, match="Scaled changes its logits"):
        Policy(model, config_of())


@pytest.mark.parametrize(
    "schedule, step, share",
    [
        ("constant", 1, 0.25),
        ("constant", 4, 1.0),
        ("constant", 24, 1.0),
        ("linear", 5, 1.0),
        ("linear", 15, 0.5),
        ("cosine", 5, 1.0),
        ("cosine", 15, 0.5),
        ("linear", 24, 0.05),
    ],
)
def test_the_rate_rises_and_falls_as_scheduled(schedule: str, step: int, share: float) -> None:
    config = OptimizerConfig.model_validate({"lr": 2.0, "schedule": schedule, "warmup_steps": 4})
    assert learning_rate(config, step, 24) == pytest.approx(2.0 * share)


def test_the_full_weights_name_the_head_even_where_it_shares_the_embedding() -> None:
    model = tiny_model(tied=True)
    weights = dict(Policy(model, config_of()).full_weights())
    assert torch.equal(weights["lm_head.weight"], weights["model.embed_tokens.weight"])
    assert weights["lm_head.weight"].data_ptr() != weights["model.embed_tokens.weight"].data_ptr()
    assert set(weights) == set(model.state_dict())
    assert not any(weight.requires_grad for weight in weights.values())
