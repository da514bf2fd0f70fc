"""EasyR1: a file with a batch reward.

    worker.reward.reward_function=$(verifier path easyr1):score
    worker.reward.reward_function_kwargs={"url":"http://HOST:8000","profile":"r1-zero"}

Where there is no verdict: overall 0.0 and verifier_error 1.0, counted; or raised, with
on_no_verdict="raise" among the kwargs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from verifier_service.adapters.common import Remote, error_flag, item_of, remote
from verifier_service.adapters.common import score as raw_score
from verifier_service.schema import Result

REWARD_NAME = "verifier"
REWARD_TYPE = "batch"
ON_NO_VERDICT = 0.0


def score(
    reward_inputs: Sequence[Mapping[str, Any]],
    *,
    url: str | None = None,
    prefilled_think: bool = False,
    **options: Any,
) -> list[dict[str, float]]:
    """One dictionary per input, with the same keys. options: those of `common.Remote`."""
    judge = remote(url, **{"on_no_verdict": ON_NO_VERDICT, **options})
    items = [
        item_of(one["response"], one["ground_truth"], prefilled_think=prefilled_think or None)
        for one in reward_inputs
    ]
    return [_scores(judge, result) for result in judge.judge(items)]


def _scores(judge: Remote, result: Result) -> dict[str, float]:
    return {
        "overall": judge.number(result),
        "accuracy": raw_score(result, "accuracy"),
        "format": raw_score(result, "format"),
        "verifier_error": error_flag(result),
    }
