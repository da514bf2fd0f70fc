"""NeMo RL: the environment to register, and a dry run of its step. Needs torch.

    from verifier_service.adapters.for_nemo_rl import register
    register("verifier")                              # before the run makes its environments

    env: {verifier: {url: "http://HOST:8000"}}        # in its YAML; and env_name: verifier for the data set

    VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/nemo_rl_environment.py

Where NeMo RL is not installed, a stand-in takes the place of the type that its environments return.
"""

import importlib.util
import sys
from types import ModuleType, SimpleNamespace

from rows import ANSWERS, GOLD, QUESTION, show

from verifier_service.adapters.for_nemo_rl import RemoteEnvironment

if importlib.util.find_spec("nemo_rl") is None:
    stand_in = ModuleType("nemo_rl.environments.interfaces")
    stand_in.__dict__["EnvironmentReturn"] = SimpleNamespace
    sys.modules[stand_in.__name__] = stand_in

if __name__ == "__main__":
    environment = RemoteEnvironment()
    logs = [
        [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": answer}]
        for answer in ANSWERS
    ]
    reply = environment.step(logs, [{"ground_truth": GOLD}] * len(ANSWERS))
    environment.shutdown()
    show("NeMo RL", reply.rewards.tolist())
