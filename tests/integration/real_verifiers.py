"""Real verifiers: a task with the reward plugged in by its configuration, scored against a running service.

VERIFIER_URL=http://127.0.0.1:8000 python tests/integration/real_verifiers.py
"""

import asyncio
import os

import verifiers.v1 as vf
from verifiers.v1.agent import AgentConfig
from verifiers.v1.errors import TaskError
from verifiers.v1.trace import AgentInfo, Trace, TraceTask


class Row(vf.TaskData):
    question: str
    answer: str


class Sums(vf.Task[Row]):
    pass


def trace_of(row: Row, reply: str) -> Trace:
    return Trace(
        task=TraceTask(type="Sums", data=row), agent=AgentInfo(config=AgentConfig()), root_reply=reply
    )


async def scored(reply: str) -> Trace:
    plugged = {"fn": "verifier_service.adapters.for_verifiers:remote_reward", "weight": 1.0}
    row = Row(question="A train covers 84 km in 1.5 h. Speed in km/h?", answer="56")
    task = Sums(row, vf.TaskConfig(rewards={"verifier": plugged}))
    trace = trace_of(row, reply)
    await task.score(trace)
    return trace


async def main() -> None:
    traces = [await scored("84 / 1.5 = 56, so \\boxed{56}"), await scored("\\boxed{42}")]
    print("rewards", [trace.rewards["verifier"].score for trace in traces], traces[0].metrics)
    assert [trace.rewards["verifier"].score for trace in traces] == [1.0, 0.0]
    os.environ["VERIFIER_URL"] = "http://127.0.0.1:1"
    from verifier_service.adapters import common

    common.RETRIES = 1
    try:
        await scored("\\boxed{56}")
    except TaskError as error:
        print("without a service:", type(error).__name__)
    else:
        raise AssertionError("a reward without a service")


asyncio.run(main())
