"""EasyR1: the adapter is the file, and a dry run of its function.

    python -m verl.trainer.main ... \\
        worker.reward.reward_function=$(verifier path easyr1):score \\
        worker.reward.reward_function_kwargs='{"url":"http://HOST:8000"}'

    VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/easyr1_file.py
"""

from rows import ANSWERS, GOLD, show

from verifier_service.adapters.for_easyr1 import score

if __name__ == "__main__":
    inputs = [
        {"response": answer, "response_length": len(answer), "ground_truth": GOLD} for answer in ANSWERS
    ]
    show("EasyR1", [reply["overall"] for reply in score(inputs)])
