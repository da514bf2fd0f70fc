"""OpenRLHF, as a python file; POST /get_reward of the service is the way without one.

    --reward.remote_url $(verifier path openrlhf)          # and VERIFIER_URL in the environment

Where there is no verdict: 0.0 and verifier_error 1.0 in extra_logs, counted; OpenRLHF cannot leave one out.
"""

from collections.abc import Sequence
from typing import Any

from verifier_service.adapters.common import error_flag, item_of, remote
from verifier_service.prompts import answer_in

ON_NO_VERDICT = 0.0


def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]) -> dict[str, Any]:
    """Lists of one, or more. `scores` is 1 for a right answer, for the filter of easy and hard prompts."""
    judge = remote(on_no_verdict=ON_NO_VERDICT)
    items = [
        item_of(answer_in(query, prompt), label, prompt)
        for query, prompt, label in zip(queries, prompts, labels, strict=True)
    ]
    results = judge.judge(items)
    right = [float(result.verdict == "correct") for result in results]
    return {
        "rewards": [judge.number(result) for result in results],
        "scores": right,
        "extra_logs": {"correct": right, "verifier_error": [error_flag(result) for result in results]},
    }
