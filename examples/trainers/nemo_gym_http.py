"""NeMo Gym, and NeMo RL and verifiers that speak to it: their own HTTP form, and a dry run of it.

taskset.task.resources_url = "http://HOST:8000"            # verifiers, taskset nemo_gym
# NeMo RL without Gym: nemo_rl_environment.py

VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/nemo_gym_http.py
"""

import os
from typing import Any

import httpx
from rows import ANSWERS, GOLD, QUESTION, show


def row(answer: str | None = None) -> dict[str, Any]:
    asked = {"responses_create_params": {"input": [{"role": "user", "content": QUESTION}]}}
    found: dict[str, Any] = {**asked, "question": QUESTION, "expected_answer": GOLD}
    if answer is not None:
        part = {"type": "output_text", "text": answer, "annotations": []}
        found["response"] = {"output": [{"type": "message", "role": "assistant", "content": [part]}]}
    return found


if __name__ == "__main__":
    url = os.environ["VERIFIER_URL"]
    httpx.post(f"{url}/seed_session", json=row()).raise_for_status()
    replies = [httpx.post(f"{url}/verify", json=row(answer)).raise_for_status().json() for answer in ANSWERS]
    show("NeMo Gym", [reply["reward"] for reply in replies])
