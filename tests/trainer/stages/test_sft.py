import pytest

torch = pytest.importorskip("torch")

from grpo_trainer.stages.sft import Sft, examples_of, supervise  # noqa: E402
from tests.trainer.tiny_models import tiny_model  # noqa: E402

PAIRS = [((2, n), (n, 4, 1)) for n in range(5, 12)]


def test_supervision_teaches_the_answers() -> None:
    losses = list(supervise(tiny_model(), examples_of(PAIRS), Sft(steps=60, batch=4, lr=1e-2, warmup=5)))
    assert len(losses) == 60
    assert losses[0] > 2.5
    assert losses[-1] < 0.5


def test_prompts_are_not_learned() -> None:
    # A first loss at the level of chance over 24 words, whatever the prompts hold, and equal for equal answers.
    def first(prompt: tuple[int, ...]) -> float:
        model = tiny_model()
        with torch.no_grad():
            for weight in model.parameters():
                weight.zero_()
        return next(supervise(model, examples_of([(prompt, (4, 1))]), Sft(steps=1, batch=1)))

    assert first((2, 3)) == pytest.approx(first((9,) * 20)) == pytest.approx(torch.tensor(24.0).log().item())
