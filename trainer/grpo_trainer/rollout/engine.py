"""What a rollout engine is: prompts and answers as token ids, never as text.

Text that is decoded and encoded again gives other ids, so the ids that the engine drew are those that the
policy trains on, with the log-probabilities that they were drawn with.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from torch import Tensor

Finish = Literal["stop", "length"]
Weights = Iterable[tuple[str, Tensor]]
"""Names as in a checkpoint, and whole tensors."""


class RolloutError(RuntimeError):
    """An engine that draws no answers, or not those of the policy; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How answers are drawn: from the policy's own distribution, or not at all.

    There is no top_k, top_p, min_p, min_tokens nor penalty. Each of them draws from another distribution
    than the one that trains, and the ratio of the two is then wrong from the first step.

    temperature: divides the logits.  max_tokens: of an answer.  seed: the same seed, policy and prompts
    give the same answers.
    """

    temperature: float
    max_tokens: int
    seed: int

    def __post_init__(self) -> None:
        if self.temperature <= 0:
            raise ValueError(f"temperature must be above 0, got {self.temperature}: at 0 nothing is drawn")
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, got {self.max_tokens}")


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer as the engine drew it.

    token_ids: the end-of-sequence token included where the answer has one, whatever the padding id is.
    logprobs: of each token, in nats, at the sampling temperature.
    finish: "stop" where the last token ends the answer, "length" where max_tokens cut it off.
    version: of the policy that drew it.
    """

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish: Finish
    version: int

    @property
    def truncated(self) -> bool:
        return self.finish == "length"

    @property
    def content_ids(self) -> tuple[int, ...]:
        """The tokens without the one that ended the answer: what the verifier reads."""
        return self.token_ids[:-1] if self.finish == "stop" else self.token_ids


@dataclass(frozen=True, slots=True)
class Group:
    """All answers to one prompt. place: of the prompt in the request."""

    place: int
    answers: tuple[Answer, ...]


class Engine(Protocol):
    """Draws answers with the weights of the last `sync`."""

    def generate(
        self, prompts: Sequence[Sequence[int]], group_size: int, sampling: Sampling
    ) -> Iterator[Group]:
        """A group for each prompt, as soon as its last answer ends; in any order."""
        ...

    def sync(self, weights: Weights, version: int) -> None:
        """Takes over the weights of the policy. From here on answers carry this version.

        Goes through all of them, even where it needs none: in a sharded run every process takes part in
        gathering each (`Policy.full_weights`). Raises RolloutError where they do not arrive in time.
        """
        ...

    def rest(self) -> None:
        """Nothing is drawn until the next `sync`: memory may go to the update."""
        ...

    def numbers(self) -> dict[str, float]:
        """What has happened to the engine so far, for the log."""
        ...

    def close(self) -> None: ...


ALTERED_DEFAULTS = {
    "top_k": (None, 0, 50),
    "top_p": (None, 1.0),
    "min_p": (None, 0.0),
    "typical_p": (None, 1.0),
    "repetition_penalty": (None, 1.0),
    "min_length": (None, 0),
    "min_new_tokens": (None, 0),
    "no_repeat_ngram_size": (None, 0),
}
"""Samplers of a checkpoint's generation_config that alter the distribution, and the values that mean nothing."""


def altering_samplers(generation_config: Any) -> list[str]:
    """What the checkpoint recommends for sampling and training does not use, as name=value."""
    found = {name: getattr(generation_config, name, None) for name in ALTERED_DEFAULTS}
    return [f"{name}={value}" for name, value in found.items() if value not in ALTERED_DEFAULTS[name]]
