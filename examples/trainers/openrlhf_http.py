"""OpenRLHF: its own HTTP form, and a dry run of it.

python -m openrlhf.cli.train_ppo_ray ... --reward.remote_url http://HOST:8000/get_reward
# with another profile, and -1 where there is no verdict: http://HOST:8000/get_reward?profile=r1-zero&fallback=-1
# as a python file, with VERIFIER_URL in the environment: --reward.remote_url $(verifier path openrlhf)

VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/openrlhf_http.py
"""

import os

import httpx
from rows import ANSWERS, GOLD, QUESTION, show

PROMPT = f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n"


def rewards(url: str) -> list[float | None]:
    """OpenRLHF sends one sample a request."""
    found: list[float | None] = []
    for answer in ANSWERS:
        body = {"query": [f"{PROMPT}{answer}<|im_end|>"], "prompts": [PROMPT], "labels": [GOLD]}
        found += httpx.post(f"{url}/get_reward", json=body).raise_for_status().json()["rewards"]
    return found


if __name__ == "__main__":
    show("OpenRLHF", rewards(os.environ["VERIFIER_URL"]))
