"""eval-protocol: its remote reward function, and a dry run of the form it sends.

RewardFunction(mode="remote", endpoint="http://HOST:8000/evaluate")

VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/eval_protocol_http.py
"""

import os

import httpx
from rows import ANSWERS, GOLD, QUESTION, show

if __name__ == "__main__":
    rewards: list[float | None] = []
    for answer in ANSWERS:
        messages = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": answer}]
        body = {"messages": messages, "ground_truth": GOLD}
        reply = httpx.post(os.environ["VERIFIER_URL"] + "/evaluate", json=body).raise_for_status().json()
        rewards.append(reply["score"])
    show("eval-protocol", rewards)
