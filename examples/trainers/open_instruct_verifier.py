"""open-instruct: the verifier to register before build_all_verifiers, and a dry run of its reward.

from verifier_service.adapters.for_open_instruct import register
register("verifier")                  # rows whose `dataset` is "verifier" are judged by the service

VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/open_instruct_verifier.py
"""

import asyncio

from rows import ANSWERS, GOLD, QUESTION, show

from verifier_service.adapters.for_open_instruct import reward


async def rewards() -> list[float | None]:
    return list(await asyncio.gather(*(reward(answer, GOLD, QUESTION) for answer in ANSWERS)))


if __name__ == "__main__":
    show("open-instruct", asyncio.run(rewards()))
