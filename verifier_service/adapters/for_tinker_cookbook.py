"""tinker-cookbook: what the `step` of an environment, or the rewards of a group, ask for.

    class MathEnv(ProblemEnv):
        async def step(self, action, *, extra=None):
            message, _ = self.renderer.parse_response(action)
            reward, metrics = await grade([message], self.gold, self.question)
            return StepResult(reward=reward, episode_done=True, metrics=metrics, ...)

An answer is a text, or a list of messages, whose content may be in parts. Override `step`, not `check_answer`,
which is synchronous and would block the loop.
Where there is no verdict: NoVerdict is raised. VERIFIER_URL says where the service is.
"""

from collections.abc import Sequence
from typing import Any

from verifier_service.adapters.common import Remote, item_of, remote
from verifier_service.schema import Result

ON_NO_VERDICT = "raise"

Graded = tuple[float, dict[str, float]]


async def grade(completion: Any, gold: Any, prompt: Any = None, *, url: str | None = None) -> Graded:
    """Reward and metrics of one answer."""
    return (await grade_group([completion], gold, prompt, url=url))[0]


async def grade_group(
    completions: Sequence[Any], gold: Any, prompt: Any = None, *, url: str | None = None
) -> list[Graded]:
    """Rewards and metrics of the answers to one question, as `compute_group_rewards` returns them."""
    judge = remote(url, on_no_verdict=ON_NO_VERDICT)
    results = await judge.ajudge([item_of(completion, gold, prompt) for completion in completions])
    return [_graded(judge, result) for result in results]


def _graded(judge: Remote, result: Result) -> Graded:
    scores = {name: score for name, score in result.scores.items() if score is not None}
    return judge.number(result), {"correct": float(result.verdict == "correct"), **scores}
