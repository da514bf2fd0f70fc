"""torchforge: the reward for its RewardActor, and a dry run of it.

reward_functions=[Reward("http://HOST:8000")]

VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/torchforge_reward.py
"""

from rows import ANSWERS, GOLD, QUESTION, show

from verifier_service.adapters.for_torchforge import Reward

if __name__ == "__main__":
    reward = Reward()
    show("torchforge", [reward(QUESTION, answer, GOLD) for answer in ANSWERS])
