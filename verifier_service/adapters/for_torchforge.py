"""torchforge: a reward for its RewardActor.

    RewardActor.options(...).as_actor(reward_functions=[Reward("http://HOST:8000")])

Where there is no verdict: NoVerdict is raised.
"""

from typing import Any

from verifier_service.adapters.common import Remote, item_of

ON_NO_VERDICT = "raise"


class Reward:
    """Picklable. options: those of `common.Remote`."""

    def __init__(self, url: str | None = None, **options: Any) -> None:
        self.remote = Remote(url, **{"on_no_verdict": ON_NO_VERDICT, **options})
        self.__name__ = "verifier"

    def __call__(self, prompt: str, response: str, target: Any) -> float:
        return self.remote.number(self.remote.judge([item_of(response, target, prompt)])[0])
