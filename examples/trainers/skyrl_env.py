"""SkyRL: the environment, made and stepped as SkyRL does it. Needs skyrl-gym.

register(id="verifier", entry_point="verifier_service.adapters.for_skyrl:RemoteEnv")    # before training
python -m skyrl_train.entrypoints.main_base ... environment.env_class=verifier          # and VERIFIER_URL

VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/skyrl_env.py
"""

from rows import ANSWERS, GOLD, QUESTION, show
from skyrl_gym import make
from skyrl_gym.envs.registration import register

if __name__ == "__main__":
    register(id="verifier", entry_point="verifier_service.adapters.for_skyrl:RemoteEnv")
    rewards: list[float | None] = []
    for answer in ANSWERS:
        spec = {"reward_spec": {"method": "rule", "ground_truth": GOLD}, "max_turns": 1}
        env = make("verifier", env_config={}, extras=spec)
        env.init([{"role": "user", "content": QUESTION}])
        rewards.append(env.step(answer)["reward"])
    show("SkyRL", rewards)
