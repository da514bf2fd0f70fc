"""slime and miles, as --custom-rm-path; POST /compat/slime of the service is the way without Python.

    --custom-rm-path verifier_service.adapters.for_slime.rm     # and VERIFIER_URL in the environment

Where there is no verdict: NoVerdict is raised, which ends the rollout.
"""

from collections.abc import Sequence
from typing import Any

from verifier_service.adapters.common import Remote, item_of, remote, score
from verifier_service.schema import Result

ON_NO_VERDICT = "raise"

Reward = float | dict[str, float | str]


async def rm(args: Any, sample: Any, **_: Any) -> Reward | list[Reward]:
    """One sample, or with --group-rm a list of them: numbers, or with --reward-key objects."""
    judge = remote(on_no_verdict=ON_NO_VERDICT)
    keyed = bool(getattr(args, "reward_key", None))
    if isinstance(sample, Sequence):
        results = await judge.ajudge([_item(one) for one in sample])
        return [_reward(judge, result, keyed) for result in results]
    return _reward(judge, (await judge.ajudge([_item(sample)]))[0], keyed)


def _item(sample: Any) -> dict[str, Any]:
    return item_of(sample.response, sample.label, sample.prompt or None)


def _reward(judge: Remote, result: Result, keyed: bool) -> Reward:
    paid = judge.number(result)
    if not keyed:
        return paid
    return {
        "score": paid,
        "correct": float(result.verdict == "correct"),
        "format": score(result, "format"),
        "reason": result.reason,
    }
