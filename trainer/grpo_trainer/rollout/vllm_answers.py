"""What vLLM is asked for and what it gives back, in process and over HTTP alike."""

import math
import random
from collections.abc import Iterable, Sequence
from typing import Any

from grpo_trainer.rollout.engine import Answer, Finish, Sampling

FINISHES: dict[str, Finish] = {"stop": "stop", "length": "length"}


class BadAnswer(ValueError):
    """An answer that must not be trained on; the message says why."""


def sampling_params(
    sampling: Sampling, place: int, group_size: int, stop_ids: Sequence[int]
) -> dict[str, Any]:
    """Arguments of vLLM's SamplingParams for one question.

    Nothing alters the distribution, whatever a checkpoint recommends. logprobs=0 gives that of the drawn
    token alone. The seed is the question's own: with one for all, they would all be answered by the same luck.
    """
    return {
        "n": group_size,
        "temperature": sampling.temperature,
        "max_tokens": sampling.max_tokens,
        "seed": random.Random(f"{sampling.seed}/{place}").getrandbits(48),
        "logprobs": 0,
        "stop_token_ids": list(stop_ids),
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "detokenize": False,
    }


def checked_answer(
    token_ids: Sequence[int],
    logprobs: Sequence[float],
    finish_reason: str | None,
    versions: Iterable[str],
    version: int,
) -> Answer:
    """The answer, if it is whole and all of it was drawn by this version of the policy; else BadAnswer."""
    drawn_by = sorted(set(versions))
    if drawn_by != [str(version)]:
        names = ", ".join(drawn_by) or "no known weights"
        raise BadAnswer(f"it was drawn by weights {names}, and the policy is at version {version}")
    finish = FINISHES.get(finish_reason or "")
    if finish is None:
        raise BadAnswer(f"it ended for the reason {finish_reason}")
    if not token_ids or len(logprobs) != len(token_ids):
        raise BadAnswer(f"it has {len(token_ids)} tokens and {len(logprobs)} log-probabilities")
    # One such number would spread to the weights of every token: by the divisor of the loss, and the gradient's norm.
    if not all(map(math.isfinite, logprobs)):
        raise BadAnswer("it has a log-probability that is no number, or infinite")
    if not all(isinstance(token, int) and token >= 0 for token in token_ids):
        raise BadAnswer("it has a token that is no id")
    return Answer(tuple(token_ids), tuple(logprobs), finish, version)
