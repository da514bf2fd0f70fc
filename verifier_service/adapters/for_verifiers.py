"""verifiers and prime-rl: a plugged reward function, and one for the older rubrics.

    [env.taskset.task.rewards]
    verifier = { fn = "verifier_service.adapters.for_verifiers:remote_reward", weight = 1.0 }

Where there is no verdict: `remote_reward` raises NoVerdict, which marks the trace as failed.
`legacy_reward` gives 0.0, counted and logged: a rubric makes 0.0 of any exception, without a count.
"""

from collections.abc import Mapping
from typing import Any

from verifier_service.adapters.common import error_flag, gold_column, item_of, remote

ON_NO_VERDICT = "raise"
LEGACY_ON_NO_VERDICT = 0.0


async def remote_reward(task: Any, trace: Any) -> float:
    """The reward of the last reply; its parts and the error become metrics of the trace."""
    judge = remote(on_no_verdict=ON_NO_VERDICT)
    row = _fields(getattr(task, "data", task))
    item = item_of(trace.last_reply, gold_column(row), row.get("question") or row.get("prompt"))
    result = (await judge.ajudge([item]))[0]
    trace.record_metric("verifier_error", error_flag(result))
    paid = judge.number(result)
    for name, score in result.scores.items():
        if score is not None:
            trace.record_metric(f"verifier_{name}", score)
    return paid


async def legacy_reward(prompt: Any, completion: Any, answer: Any, **_: Any) -> float:
    """For `vf.Rubric(funcs=[legacy_reward])`, up to verifiers 0.3."""
    judge = remote(on_no_verdict=LEGACY_ON_NO_VERDICT)
    return judge.number((await judge.ajudge([item_of(completion, answer, prompt)]))[0])


def _fields(row: Any) -> Mapping[str, Any]:
    """The fields of a data row, be it a mapping or a model."""
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "model_dump"):
        return {**row.model_dump(), "prompt": getattr(row, "prompt", None)}
    fields: Mapping[str, Any] = vars(row)
    return fields
