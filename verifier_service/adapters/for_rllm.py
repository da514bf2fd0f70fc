"""rLLM: an evaluator of episodes, and the older reward function.

    import rllm
    from verifier_service.adapters.for_rllm import evaluate
    verifier = rllm.evaluator(register="verifier")(evaluate)                   # and VERIFIER_URL

Where there is no verdict: NoVerdict is raised.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from verifier_service.adapters.common import NoVerdict, gold_column, item_of, remote
from verifier_service.schema import Result

ON_NO_VERDICT = "raise"


@dataclass
class RewardOutput:
    """What rLLM reads of a reward."""

    reward: float
    metadata: dict[str, Any] = field(default_factory=dict)
    is_correct: bool = False


def evaluate(task: Any, episode: Any) -> tuple[float, bool]:
    """The reward of the last answer of an episode, and whether it is right."""
    reward, result = _judged(_fields(task), _last_answer(episode))
    return reward, result.verdict == "correct"


def legacy_reward(task_info: Mapping[str, Any], action: str) -> RewardOutput:
    """For environments that take a `reward_fn(task_info, action)`."""
    reward, result = _judged(task_info, action)
    return RewardOutput(reward, {"reason": result.reason}, result.verdict == "correct")


def _judged(task: Mapping[str, Any], answer: Any) -> tuple[float, Result]:
    judge = remote(on_no_verdict=ON_NO_VERDICT)
    prompt = task.get("question") or task.get("prompt") or task.get("problem")
    result = judge.judge([item_of(answer, gold_column(task), prompt)])[0]
    return judge.number(result), result


def _fields(task: Any) -> Mapping[str, Any]:
    """The row of the data set: the task itself, or where the versions of rLLM keep it."""
    found = next((kept for name in ("metadata", "data", "task") if (kept := getattr(task, name, None))), task)
    return found if isinstance(found, Mapping) else vars(found)


def _last_answer(episode: Any) -> Any:
    """What the model wrote last, whole if it was kept so: in a step, else what the agent gave as its answer.

    Raises NoVerdict where an episode holds none: something has failed before.
    """
    steps = [step for trajectory in episode.trajectories[-1:] for step in trajectory.steps]
    for step in reversed(steps):
        # A turn that called a tool has no text of its own.
        if text := getattr(step, "model_response", None):
            return text
        if chat := getattr(step, "chat_completions", None):
            return chat[-1:]
    given = (getattr(episode, "artifacts", None) or {}).get("answer")
    for answer in (
        given,
        *(getattr(one, "output", None) for one in (*episode.trajectories[-1:], *steps[-1:])),
    ):
        if answer:
            return str(answer)
    raise NoVerdict("no_text", "the episode holds no text of the model")
