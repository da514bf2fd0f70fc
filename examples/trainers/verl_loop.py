"""verl: what to add to a run of GRPO, and a dry run of its reward.

    python -m verl.trainer.main_ppo ... \\
        reward.custom_reward_function.path=pkg://verifier_service.adapters.for_verl \\
        reward.custom_reward_function.name=compute_score \\
        +reward.custom_reward_function.reward_kwargs.url=http://HOST:8000

    VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/verl_loop.py

Trees of 2025 call the same settings custom_reward_function.path and .name, without `reward.` in front.
"""

import asyncio

from rows import ANSWERS, GOLD, QUESTION, show

from verifier_service.adapters.for_verl import compute_score


async def rollout() -> list[float | None]:
    """verl asks for one sample at a time, many at once."""
    calls = (
        compute_score(
            data_source="rates/train",
            solution_str=answer,
            ground_truth=GOLD,
            extra_info={"question": QUESTION},
        )
        for answer in ANSWERS
    )
    return [reply["score"] for reply in await asyncio.gather(*calls)]


if __name__ == "__main__":
    show("verl", asyncio.run(rollout()))
