"""ms-swift: a reward class, and the plugin file that registers it.

    --external_plugins $(verifier path ms_swift) --reward_funcs verifier     # and VERIFIER_URL

Where there is no verdict the reward is None: ms-swift leaves the completion out.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from verifier_service.adapters.common import gold_column, item_of, remote

ON_NO_VERDICT = None
NAME = "verifier"


class RewardORM:
    """Synchronous on purpose: each step of ms-swift has an event loop of its own."""

    def __init__(self, args: Any = None, **_: Any) -> None:
        self.remote = remote(on_no_verdict=ON_NO_VERDICT)

    def __call__(self, completions: Sequence[str], **columns: Any) -> list[float | None]:
        golds = gold_column(columns)
        conversations = columns.get("messages") or [None] * len(completions)
        items = [
            item_of(completion, gold, _prompt(messages))
            for completion, gold, messages in zip(completions, golds, conversations, strict=True)
        ]
        return [self.remote.paid(result) for result in self.remote.judge(items)]


def _prompt(messages: Any) -> Any:
    """The messages before the last one, which is the completion."""
    if not messages:
        return None
    return messages[:-1] if messages[-1].get("role") == "assistant" else messages


def register() -> None:
    """Puts the class among the rewards of ms-swift, which must be there."""
    import_module("swift.rewards").orms[NAME] = RewardORM


# As a plugin this file is loaded by its path, under a name that is not that of the package.
if "swift" in sys.modules and not __name__.startswith("verifier_service."):
    register()
