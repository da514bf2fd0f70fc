import pytest

torch = pytest.importorskip("torch")

from grpo_trainer.batches import Sequences  # noqa: E402
from grpo_trainer.loading import load_config  # noqa: E402
from grpo_trainer.policy import Policy  # noqa: E402
from grpo_trainer.rollout import Answer, Group, Sampling  # noqa: E402
from grpo_trainer.rollout.transformers_engine import TransformersEngine, stop_ids_of  # noqa: E402
from grpo_trainer.weights import full_weights  # noqa: E402
from tests.trainer.tiny_models import tiny_model, tiny_tokenizer  # noqa: E402

PROMPTS = [(2, 3, 12), (5,), (7, 8, 9, 10, 11, 12)]
END = 1


def drawn(
    stop_ids: list[int], *, batch: int | None = None, max_tokens: int = 12, seed: int = 3
) -> list[Group]:
    engine = TransformersEngine(tiny_model(), stop_ids, batch=batch)
    engine.sync(full_weights(engine._model), 5)
    groups = engine.generate(PROMPTS, 4, Sampling(temperature=0.8, max_tokens=max_tokens, seed=seed))
    return sorted(groups, key=lambda g: g.place)


def answers(groups: list[Group]) -> list[Answer]:
    return [answer for group in groups for answer in group.answers]


@pytest.mark.parametrize("batch", [None, 1, 5])
def test_the_samplers_logprobs_are_those_of_the_policy(batch: int | None) -> None:
    # Prompts of different lengths, answers that end at different times, rows dropped on the way: whatever
    # padding and cache do, the policy must find the same probabilities for the same tokens.
    groups = drawn([END, 4, 9], batch=batch)
    config = load_config("tiny-cpu", overrides=["sampling.temperature=0.8"])
    policy = Policy(tiny_model(), config)
    sequences = Sequences(
        tuple(PROMPTS[g.place] for g in groups for _ in g.answers),
        tuple(a.token_ids for a in answers(groups)),
    )
    again_BT = policy.logprobs(sequences)
    for row, answer in enumerate(answers(groups)):
        assert again_BT[row, : len(answer.logprobs)].tolist() == pytest.approx(answer.logprobs, abs=1e-4)


def test_every_stop_id_ends_an_answer_and_is_part_of_it() -> None:
    seen = answers(drawn([END, 4, 9], max_tokens=40))
    stopped = [a for a in seen if a.finish == "stop"]
    assert {a.token_ids[-1] for a in stopped} == {END, 4, 9}
    assert all(not {END, 4, 9} & set(a.token_ids[:-1]) for a in seen)
    assert all(a.content_ids == a.token_ids[:-1] for a in stopped)


def test_an_answer_that_reaches_the_limit_is_truncated_and_whole() -> None:
    cut = [a for a in answers(drawn([23], max_tokens=3)) if a.truncated]
    assert cut
    assert all(len(a.token_ids) == len(a.logprobs) == len(a.content_ids) == 3 for a in cut)


def test_a_stop_at_the_very_limit_is_a_stop() -> None:
    ends = answers(drawn(list(range(24)), max_tokens=1))
    assert [a.finish for a in ends] == ["stop"] * 12


def test_every_group_is_complete_and_carries_the_version() -> None:
    groups = drawn([END])
    assert [g.place for g in groups] == [0, 1, 2]
    assert [len(g.answers) for g in groups] == [4, 4, 4]
    assert {a.version for a in answers(groups)} == {5}


def test_the_same_seed_draws_the_same_answers_and_another_seed_does_not() -> None:
    assert drawn([END]) == drawn([END])
    assert drawn([END]) != drawn([END], seed=4)


def test_a_group_comes_while_others_are_still_written() -> None:
    engine = TransformersEngine(tiny_model(), [END, 4, 9, 12, 15, 18])
    places = [g.place for g in engine.generate(PROMPTS * 4, 2, Sampling(1.0, 60, seed=0))]
    assert sorted(places) == list(range(12))
    assert places != sorted(places)


def test_frequencies_are_the_models_own_distribution() -> None:
    # No top-k, no top-p: every token must come as often as the model says.
    model = tiny_model()
    engine = TransformersEngine(model, [23])
    count = 20_000
    tokens = [
        a.token_ids[0] for g in engine.generate([(2, 3)], count, Sampling(1.0, 1, seed=0)) for a in g.answers
    ]
    with torch.no_grad():
        expected_V = model(input_ids=torch.tensor([[2, 3]])).logits[0, -1].softmax(-1)
    found_V = torch.bincount(torch.tensor(tokens), minlength=24) / count
    assert (found_V - expected_V).abs().max() < 5 * (0.25 / count) ** 0.5
    assert bool((found_V > 0).all())


def test_stop_ids_are_gathered_from_everywhere() -> None:
    model = tiny_model()
    model.generation_config.eos_token_id = [7, 8]
    assert stop_ids_of(model, tiny_tokenizer()) == [1, 7, 8]


def test_an_engine_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="no id ends an answer"):
        TransformersEngine(tiny_model(), [])


def test_sync_copies_the_weights_into_an_engine_of_its_own() -> None:
    engine = TransformersEngine(tiny_model(0).to(torch.bfloat16), [END])
    other = tiny_model(1)
    engine.sync(full_weights(other), 9)
    for mine, theirs in zip(engine._model.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs.to(torch.bfloat16))
