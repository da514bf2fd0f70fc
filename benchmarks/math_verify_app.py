"""The peer: a FastAPI app around Math-Verify, as trainers have it, and as fair as such an app can be.

Parsed and verified in a pool of processes (its own time limits work in a main thread only), a format reward
by a pattern as in the R1 paper, the same two rewards in sum. Nothing is decoded twice, nothing is logged.

    python benchmarks/math_verify_app.py PORT WORKERS
"""

import asyncio
import logging
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import uvicorn
from fastapi import FastAPI
from math_verify import parse, verify
from pydantic import BaseModel

_FORMAT = re.compile(r"<think>(?:(?!</?think>).)*</think>(?:(?!</?think>).)*", re.DOTALL)


class Item(BaseModel):
    completion: str
    gold: str
    prompt: str | None = None
    id: int | None = None


class Batch(BaseModel):
    items: list[Item]
    profile: str = ""


class Result(BaseModel):
    reward: float
    accuracy: float
    format: float


class Reply(BaseModel):
    results: list[Result]
    rewards: list[float]


def judged(gold: str, completion: str) -> tuple[float, float]:
    """Accuracy and format of one completion; a gold without a formula is given one, as its grammar wants it."""
    try:
        right = verify(parse(f"\\boxed{{{gold}}}"), parse(completion.rpartition("</think>")[2]))
    except Exception:  # noqa: BLE001  what such apps do
        right = False
    return float(right), float(_FORMAT.fullmatch(completion) is not None)


def quiet() -> None:
    logging.disable(logging.CRITICAL)


def app_with(workers: int) -> FastAPI:
    app = FastAPI()
    pool = ProcessPoolExecutor(workers, initializer=quiet)

    @app.post("/score")
    async def score(batch: Batch) -> Reply:
        loop = asyncio.get_running_loop()
        calls = (loop.run_in_executor(pool, judged, item.gold, item.completion) for item in batch.items)
        found = await asyncio.gather(*calls)
        results = [Result(reward=a + f, accuracy=a, format=f) for a, f in found]
        return Reply(results=results, rewards=[result.reward for result in results])

    @app.get("/readyz")
    async def readyz() -> dict[str, Any]:
        await asyncio.get_running_loop().run_in_executor(pool, judged, "1", "</think>\\boxed{1}")
        return {"status": "ready"}

    return app


if __name__ == "__main__":
    uvicorn.run(app_with(int(sys.argv[2])), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
