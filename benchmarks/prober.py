"""Asks /healthz every few milliseconds and prints how long each answer took, as JSON.

python benchmarks/prober.py URL SECONDS
"""

import asyncio
import json
import sys
import time

from load import Connection

EVERY_S = 0.01


async def probe(url: str, seconds: float) -> list[float]:
    connection = Connection(url)
    took: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        reply = await connection.get("/healthz")
        assert reply.status == 200
        took.append(time.monotonic() - began)
        await asyncio.sleep(max(0.0, EVERY_S - took[-1]))
    connection.close()
    return took


if __name__ == "__main__":
    json.dump({"seconds": asyncio.run(probe(sys.argv[1], float(sys.argv[2])))}, sys.stdout)
