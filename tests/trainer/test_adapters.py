from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft", reason="peft is not installed")

from grpo_trainer.adapters import add_adapters, without_adapters  # noqa: E402
from grpo_trainer.checkpoint import CheckpointError, gathered  # noqa: E402
from grpo_trainer.loading import load_config  # noqa: E402
from grpo_trainer.policy import Policy  # noqa: E402
from grpo_trainer.scorer import PolicyError  # noqa: E402
from tests.trainer.runs import config_of  # noqa: E402
from tests.trainer.test_loop import run, weights  # noqa: E402
from tests.trainer.test_policy import experience, sequences  # noqa: E402
from tests.trainer.tiny_models import tiny_model  # noqa: E402

LORA = ["lora.rank=4", "lora.alpha=16", "optimizer.lr=1e-2"]
KL = ["kl.beta=0.1", "reference.update=fixed"]


def adapted(*words: str) -> Policy:
    words = ("batch.answers_per_step=16", *LORA, *KL, *words)
    return Policy(tiny_model(), load_config("tiny-cpu", overrides=words))


def test_at_first_they_change_nothing_and_all_else_is_frozen() -> None:
    policy = adapted()
    plain = Policy(tiny_model(), load_config("tiny-cpu"))
    assert torch.equal(policy.logprobs(sequences()), plain.logprobs(sequences()))
    learning = {name for name, p in policy.model.named_parameters() if p.requires_grad}
    assert learning == {name for name, _ in policy.model.named_parameters() if ".lora_" in name}


def test_the_reference_is_the_policy_without_them() -> None:
    policy = adapted()
    start_BT = policy.logprobs(sequences())
    for step in range(1, 4):
        policy.update(experience(policy, ref_BT=start_BT), range(16), step)
    assert policy.reference is None
    assert not torch.equal(policy.logprobs(sequences()), start_BT)
    assert torch.equal(policy.reference_logprobs(sequences()), start_BT)
    with without_adapters(policy.model):
        assert torch.equal(policy.logprobs(sequences()), start_BT)


def test_merged_they_give_the_same_model_under_its_own_names() -> None:
    policy = adapted("model.precision=float64")
    policy = Policy(tiny_model().double(), policy.config)
    for step in range(1, 4):
        policy.update(experience(policy, ref_BT=policy.logprobs(sequences())), range(16), step)
    merged = tiny_model().double()
    start = tiny_model().double().state_dict()
    merged.load_state_dict(dict(policy.full_weights()))
    plain = Policy(merged, load_config("tiny-cpu", overrides=["model.precision=float64"]))
    torch.testing.assert_close(
        plain.logprobs(sequences()), policy.logprobs(sequences()), rtol=1e-12, atol=1e-12
    )
    assert not torch.equal(
        start["model.layers.0.mlp.up_proj.weight"], merged.model.layers[0].mlp.up_proj.weight
    )


def test_the_same_seed_makes_the_same_adapters() -> None:
    config = load_config("tiny-cpu", overrides=LORA).lora
    models = [tiny_model() for _ in range(3)]
    for model, seed in zip(models, (1, 1, 2), strict=True):
        add_adapters(model, config, seed)
    first, same, other = (dict(m.named_parameters()) for m in models)
    name = next(n for n in first if ".lora_A." in n)
    assert torch.equal(first[name], same[name])
    assert not torch.equal(first[name], other[name])


def test_layers_that_are_not_there_are_named() -> None:
    with pytest.raises(PolicyError, match=r"lora\.targets=.*nowhere"):
        adapted('lora.targets=["nowhere"]')


def test_a_frozen_model_may_be_in_half_precision_and_its_adapters_are_not(tmp_path: Path) -> None:
    summary = run(config_of(tmp_path, "steps=2", "model.precision=bfloat16", *LORA))
    start, end = weights(tmp_path / "start"), weights(summary.checkpoint)
    assert start.keys() == end.keys()
    moved = [name for name in start if not torch.equal(end[name].float(), start[name].bfloat16().float())]
    assert moved
    assert all("_proj.weight" in name for name in moved)
    policy = Policy(
        tiny_model().bfloat16(), load_config("tiny-cpu", overrides=["model.precision=bfloat16", *LORA])
    )
    kinds = {p.dtype for name, p in policy.model.named_parameters() if ".lora_" in name}
    assert kinds == {torch.float32}


def test_a_resumed_run_with_adapters_ends_where_the_uninterrupted_one_ends(tmp_path: Path) -> None:
    import shutil

    words = ["checkpoint.every=2", *LORA, *KL]
    whole = run(config_of(tmp_path, f"output={tmp_path / 'whole'}", *words))
    broken = config_of(tmp_path, f"output={tmp_path / 'broken'}", *words)
    shutil.rmtree(run(broken).checkpoint)
    ours, theirs = weights(run(broken, resume=True).checkpoint), weights(whole.checkpoint)
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_a_run_cannot_go_on_with_other_adapters(tmp_path: Path) -> None:
    run(config_of(tmp_path, "steps=4", "checkpoint.every=2", *LORA))
    with pytest.raises(CheckpointError, match=r"does not hold .* keep model\.path and lora"):
        run(config_of(tmp_path, "steps=8", "checkpoint.every=2"), resume=True)


@pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings=True`")
@pytest.mark.parametrize(
    "targets, words",
    [
        ("['lm_head']", "shares its weights"),
        ("['q_proj', 'lm_head']", "leave it out"),
        ("['embed_tokens']", "names a Embedding: name linear layers"),
    ],
)
def test_layers_whose_adapter_no_checkpoint_could_hold_are_refused(targets: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        adapted(f"lora.targets={targets}")


def test_an_output_head_of_its_own_may_have_an_adapter() -> None:
    config = load_config("tiny-cpu", overrides=["lora.rank=4", "lora.targets=['lm_head']"])
    policy = Policy(tiny_model(tied=False), config)
    for name, parameter in policy.model.named_parameters():
        if ".lora_" in name:
            parameter.data.fill_(0.1)
    merged = dict(policy.full_weights())
    assert torch.equal(gathered(policy)["lm_head.weight"], merged["lm_head.weight"])
    assert not torch.equal(merged["lm_head.weight"], tiny_model(tied=False).lm_head.weight)
