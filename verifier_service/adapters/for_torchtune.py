"""torchtune (dev/rl): a reward over a batch.

    reward_functions: [{_component_: verifier_service.adapters.for_torchtune.Reward, url: "http://HOST:8000"}]

Where there is no verdict: NoVerdict is raised.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from verifier_service.adapters.common import Remote, item_of

ON_NO_VERDICT = "raise"


class Reward:
    """options: those of `common.Remote`."""

    def __init__(self, url: str | None = None, **options: Any) -> None:
        self.remote = Remote(url, **{"on_no_verdict": ON_NO_VERDICT, **options})

    def __call__(self, completion_ids: Any, completions: Sequence[str], answers: Sequence[Any]) -> Any:
        items = [item_of(text, gold) for text, gold in zip(completions, answers, strict=True)]
        results = self.remote.judge(items)
        rewards = [self.remote.number(result) for result in results]
        right = [float(result.verdict == "correct") for result in results]
        # The trainer's, both.
        torch = import_module("torch")
        reply = import_module("torchtune.dev.rl.rewards").RewardOutput
        return reply(
            reward_base_name="verifier", total_reward=torch.tensor(rewards), successes=torch.tensor(right)
        )
