"""AReaL: a synchronous function, called in a pool of processes that gives up after 15 s.

    RLVRWorkflow(reward_fn="verifier_service.adapters.for_areal.reward_fn")     # and VERIFIER_URL

Where there is no verdict: 0.0, counted and logged; AReaL cannot leave one out. For another rule, or a
service that is not in the environment, make an object in a module of your own:

    reward_fn = RewardFunction("http://HOST:8000", on_no_verdict="raise")
"""

from functools import cache
from typing import Any

from verifier_service.adapters.common import Remote, gold_column, item_of

ON_NO_VERDICT = 0.0
# AReaL gives up after 15 s, and then the pool still works on the call.
BUDGET_S = 12.0


class RewardFunction:
    """Picklable. gold: the column with the reference answer. options: those of `common.Remote`."""

    def __init__(self, url: str | None = None, *, gold: str | None = None, **options: Any) -> None:
        self.remote = Remote(url, **{"on_no_verdict": ON_NO_VERDICT, "budget_s": BUDGET_S, **options})
        self._gold = gold

    def __call__(
        self,
        prompt: Any,
        completions: Any,
        prompt_ids: Any = None,
        completion_ids: Any = None,
        **columns: Any,
    ) -> float:
        item = item_of(completions, gold_column(columns, self._gold), prompt)
        return self.remote.number(self.remote.judge([item])[0])


@cache
def _default() -> RewardFunction:
    return RewardFunction()


def reward_fn(
    prompt: Any, completions: Any, prompt_ids: Any = None, completion_ids: Any = None, **columns: Any
) -> float:
    """One sample; `completions` is one text, whatever its name."""
    return _default()(prompt, completions, prompt_ids, completion_ids, **columns)
