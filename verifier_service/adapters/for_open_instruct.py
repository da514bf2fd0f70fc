"""open-instruct: a verifier among its own, chosen by the data set's name.

    from verifier_service.adapters.for_open_instruct import register
    register("verifier")                # before build_all_verifiers; and VERIFIER_URL

Rows whose `dataset` is "verifier" are judged by the service. Where there is no verdict: NoVerdict is raised.
Code execution (--code_api_url) is out of scope.
"""

from importlib import import_module
from typing import Any

from verifier_service.adapters.common import item_of, remote

ON_NO_VERDICT = "raise"
MODULE = "open_instruct.ground_truth_utils"


async def reward(prediction: str, label: Any, query: str | None = None) -> float:
    """The reward of one answer."""
    judge = remote(on_no_verdict=ON_NO_VERDICT)
    return judge.number((await judge.ajudge([item_of(prediction, label, query)]))[0])


def register(name: str = "verifier", weight: float = 1.0) -> type[Any]:
    """Defines the verifier of this name: open-instruct finds its verifiers among the subclasses."""
    trainer = import_module(MODULE)
    base, result = trainer.VerifierFunction, trainer.VerificationResult

    class RemoteVerifier(base):  # type: ignore[misc, valid-type]  # a base of the trainer's
        def __init__(self, verifier_config: Any = None) -> None:
            super().__init__(name, weight=weight, verifier_config=verifier_config)

        async def async_call(
            self,
            tokenized_prediction: list[int],
            prediction: str,
            label: Any,
            query: str | None = None,
            rollout_state: Any = None,
        ) -> Any:
            return result(score=await reward(prediction, label, query))

        def __call__(
            self,
            tokenized_prediction: list[int],
            prediction: str,
            label: Any,
            query: str | None = None,
            rollout_state: Any = None,
        ) -> Any:
            judge = remote(on_no_verdict=ON_NO_VERDICT)
            return result(score=judge.number(judge.judge([item_of(prediction, label, query)])[0]))

    return RemoteVerifier
