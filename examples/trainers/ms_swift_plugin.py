"""ms-swift: the adapter is the plugin, and a dry run of its reward class.

export VERIFIER_URL=http://HOST:8000
swift rlhf --rlhf_type grpo ... --external_plugins $(verifier path ms_swift) --reward_funcs verifier

VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/ms_swift_plugin.py
"""

from rows import ANSWERS, GOLD, QUESTION, show

from verifier_service.adapters.for_ms_swift import RewardORM

if __name__ == "__main__":
    reward = RewardORM(args=None)
    messages = [
        [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": answer}]
        for answer in ANSWERS
    ]
    show("ms-swift", reward(list(ANSWERS), solution=[GOLD, GOLD], messages=messages))
