"""slime and miles: their own HTTP form, and dry runs of it and of the python function.

python train.py ... --rm-type remote_rm --rm-url "http://HOST:8000/compat/slime?profile=accuracy"
# in Python, with VERIFIER_URL in the environment: --custom-rm-path verifier_service.adapters.for_slime.rm

VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/slime_http.py
"""

import asyncio
import os
from types import SimpleNamespace

import httpx
from rows import ANSWERS, GOLD, QUESTION, show

from verifier_service.adapters.for_slime import rm


def by_http(url: str) -> list[float | None]:
    bodies = [{"prompt": QUESTION, "response": answer, "label": GOLD} for answer in ANSWERS]
    return [httpx.post(f"{url}/compat/slime", json=body).raise_for_status().json() for body in bodies]


async def by_function() -> list[float | None]:
    samples = [SimpleNamespace(prompt=QUESTION, response=answer, label=GOLD) for answer in ANSWERS]
    return [float(str(await rm(SimpleNamespace(reward_key=None), sample))) for sample in samples]


if __name__ == "__main__":
    show("slime, remote_rm", by_http(os.environ["VERIFIER_URL"]))
    show("slime, custom rm", asyncio.run(by_function()))
