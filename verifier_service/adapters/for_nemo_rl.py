"""NeMo RL: an environment of one turn. With NeMo Gym, /verify of the service is the way instead.

    from verifier_service.adapters.for_nemo_rl import register
    register()                                   # before the run makes its environments
    env: {verifier: {url: "http://HOST:8000"}}

Where there is no verdict: NoVerdict is raised, since NeMo RL cannot tell a 0.0 of a failure from one of a
wrong answer.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from verifier_service.adapters.common import Remote, gold_column, item_of

ON_NO_VERDICT = "raise"
ACTOR = f"{__name__}.Actor"


def register(name: str = "verifier") -> None:
    """Makes the environment known under this name, as one that runs in NeMo RL's own Python environment."""
    python = import_module("nemo_rl.distributed.virtual_cluster").PY_EXECUTABLES.SYSTEM
    import_module("nemo_rl.distributed.ray_actor_environment_registry").ACTOR_ENVIRONMENT_REGISTRY[ACTOR] = (
        python
    )
    import_module("nemo_rl.environments.utils").register_env(name, ACTOR)


class RemoteEnvironment:
    """cfg: a mapping of the options of `common.Remote`. NeMo RL makes its actor, `Actor`, of this class."""

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        self._judge = Remote(**{"on_no_verdict": ON_NO_VERDICT, **(cfg or {})})

    def step(
        self, message_log_batch: Sequence[Sequence[Mapping[str, Any]]], metadata: Sequence[Mapping[str, Any]]
    ) -> Any:
        """The rewards of a batch of conversations, each of which ends with its answer."""
        items = [
            item_of(messages[-1:], gold_column(row), messages[:-1] or None)
            for messages, row in zip(message_log_batch, metadata, strict=True)
        ]
        results = self._judge.judge(items)
        # The trainer's, both.
        torch = import_module("torch")
        reply = import_module("nemo_rl.environments.interfaces").EnvironmentReturn
        count = len(results)
        return reply(
            observations=[{"role": "environment", "content": result.verdict or ""} for result in results],
            metadata=list(metadata),
            next_stop_strings=[None] * count,
            rewards=torch.tensor([self._judge.number(result) for result in results]),
            terminateds=torch.ones(count),
            answers=[result.extracted for result in results],
        )

    def global_post_process_and_metrics(self, batch: Any) -> tuple[Any, dict[str, float]]:
        return batch, {"verifier_error": float(self._judge.counts.no_verdict)}

    def shutdown(self) -> None:
        self._judge.client.close()


def __getattr__(name: str) -> Any:
    """`Actor`, once ray is there: it is the trainer's."""
    if name == "Actor":
        return import_module("ray").remote(RemoteEnvironment)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
