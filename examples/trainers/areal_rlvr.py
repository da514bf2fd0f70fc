"""AReaL: the function for RLVRWorkflow, and a dry run of it in a pool of processes, as AReaL calls it.

workflow = RLVRWorkflow(reward_fn="verifier_service.adapters.for_areal.reward_fn", ...)

VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/areal_rlvr.py
"""

from concurrent.futures import ProcessPoolExecutor
from functools import partial

from rows import ANSWERS, GOLD, QUESTION, show

from verifier_service.adapters.for_areal import reward_fn

if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        calls = [
            pool.submit(partial(reward_fn, QUESTION, answer, [1], [2], answer=GOLD)) for answer in ANSWERS
        ]
        show("AReaL", [call.result() for call in calls])
