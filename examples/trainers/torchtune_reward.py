"""torchtune (dev/rl): the reward for its recipe, and a dry run of it. Needs torch.

    reward_functions:
      - _component_: verifier_service.adapters.for_torchtune.Reward
        url: http://HOST:8000

    VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/torchtune_reward.py

Where torchtune is not installed, a stand-in takes the place of the type that its rewards return.
"""

import importlib.util
import sys
from types import ModuleType, SimpleNamespace

from rows import ANSWERS, GOLD, show

from verifier_service.adapters.for_torchtune import Reward

if importlib.util.find_spec("torchtune") is None:
    stand_in = ModuleType("torchtune.dev.rl.rewards")
    stand_in.__dict__["RewardOutput"] = SimpleNamespace
    sys.modules[stand_in.__name__] = stand_in

if __name__ == "__main__":
    reply = Reward()(None, list(ANSWERS), [GOLD, GOLD])
    show("torchtune", reply.total_reward.tolist())
