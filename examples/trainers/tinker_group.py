"""tinker-cookbook: the rewards of a group, as an EnvGroupBuilder returns them, and a dry run.

class Group(EnvGroupBuilder):
    async def compute_group_rewards(self, trajectories, envs):
        return await grade_group([[message_of(one)] for one in trajectories], self.gold, self.question)

VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/tinker_group.py
"""

import asyncio

from rows import ANSWERS, GOLD, QUESTION, show

from verifier_service.adapters.for_tinker_cookbook import grade_group

if __name__ == "__main__":
    graded = asyncio.run(grade_group(ANSWERS, GOLD, QUESTION))
    show("tinker-cookbook", [reward for reward, _ in graded])
