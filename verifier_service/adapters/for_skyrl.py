"""SkyRL: an environment of one turn.

    from skyrl_gym.envs import register
    register(id="verifier", entry_point="verifier_service.adapters.for_skyrl:RemoteEnv")
    environment.env_class=verifier                                             # and VERIFIER_URL

Where there is no verdict: 0.0, and verifier_error 1.0 in the metrics of the episode, counted; SkyRL cannot
leave one out.
"""

from collections.abc import Mapping
from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv

from verifier_service.adapters.common import code_of, error_flag, gold_column, item_of, remote
from verifier_service.schema import Result

ON_NO_VERDICT = 0.0


class RemoteEnv(BaseTextEnv):  # type: ignore[misc]  # skyrl_gym has no types
    """The gold is in reward_spec.ground_truth; the URL in env_config.url or the column verifier_url."""

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        extras = extras or {}
        config = env_config if isinstance(env_config, Mapping) else {}
        url = config.get("url") or extras.get("verifier_url")
        rule = config.get("on_no_verdict", ON_NO_VERDICT)
        self._gold = gold_column(extras.get("reward_spec") or extras)
        self._judge = remote(url, profile=config.get("profile"), on_no_verdict=rule)
        self._prompt: Any = None
        self._result: Result | None = None

    def init(self, prompt: Any) -> tuple[Any, dict[str, Any]]:
        self._prompt = prompt
        return prompt, {}

    def step(self, action: str) -> dict[str, Any]:
        result = self._judge.judge([item_of(action, self._gold, self._prompt)])[0]
        self._result = result
        reason = result.reason if result.reward is not None else code_of(result)
        return {
            "observations": [],
            "reward": self._judge.number(result),
            "done": True,
            "metadata": {"reason": reason, "verdict": result.verdict},
        }

    def get_metrics(self) -> dict[str, float]:
        """Averaged over episodes by SkyRL."""
        if self._result is None:
            return {}
        return {
            "correct": float(self._result.verdict == "correct"),
            "verifier_error": error_flag(self._result),
        }
