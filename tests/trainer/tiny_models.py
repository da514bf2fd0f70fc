"""Models and judges small enough for a test: nothing is downloaded, nothing learned."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from grpo_trainer.config import ShapeConfig
from grpo_trainer.tiny import make_model, make_tokenizer
from grpo_trainer.verdicts import Item, Verdict

SHAPE = ShapeConfig(
    layers=2, hidden=32, intermediate=64, heads=4, kv_heads=2, vocab=24, tied=True, qkv_bias=True
)

RIGHT, WRONG = Verdict(1.0, "right"), Verdict(0.0, "wrong")
NO_VERDICT = Verdict(None, "no_verdict", code="answer_timeout")


def tiny_tokenizer() -> Any:
    return make_tokenizer()


def tiny_model(seed: int = 0, **changes: Any) -> Any:
    return make_model(SHAPE.model_copy(update=changes), seed, tiny_tokenizer())


class FakeJudge:
    """Verdicts from a rule of the test, at once. items: all that was asked."""

    def __init__(self, rule: Callable[[Item], Verdict]) -> None:
        self.rule = rule
        self.items: list[Item] = []

    def submit(self, items: Sequence[Mapping[str, Any]]) -> "Future[list[Verdict]]":
        self.items += items
        future: Future[list[Verdict]] = Future()
        future.set_result([self.rule(item) for item in items])
        return future
