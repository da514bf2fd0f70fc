"""rLLM: the evaluator, and a dry run of it.

verifier = rllm.evaluator(register="verifier")(evaluate)      # then: rllm eval BENCH --evaluator verifier

VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/rllm_evaluator.py
"""

from types import SimpleNamespace

from rows import ANSWERS, GOLD, QUESTION, show

from verifier_service.adapters.for_rllm import evaluate


def episode(answer: str) -> SimpleNamespace:
    return SimpleNamespace(trajectories=[SimpleNamespace(steps=[SimpleNamespace(model_response=answer)])])


if __name__ == "__main__":
    task = {"question": QUESTION, "answer": GOLD}
    show("rLLM", [evaluate(task, episode(answer))[0] for answer in ANSWERS])
