"""verifiers and prime-rl: the reward plugged into a task, and a dry run of it.

[env.taskset.task.rewards]          # prime-rl: the same table under orchestrator.train.source.env
verifier = { fn = "verifier_service.adapters.for_verifiers:remote_reward", weight = 1.0 }

VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/verifiers_task.py
"""

import asyncio
from types import SimpleNamespace

from rows import ANSWERS, GOLD, QUESTION, show

from verifier_service.adapters.for_verifiers import remote_reward


async def rewards() -> list[float | None]:
    metrics: dict[str, float] = {}
    row = {"question": QUESTION, "answer": GOLD}
    traces = [SimpleNamespace(last_reply=answer, record_metric=metrics.__setitem__) for answer in ANSWERS]
    return list(await asyncio.gather(*(remote_reward(task=row, trace=trace) for trace in traces)))


if __name__ == "__main__":
    show("verifiers", asyncio.run(rewards()))
