"""The killable worker pool: the only place where model text is parsed and evaluated.

Exact big-number code can hold a process for minutes or abort it, so that nothing inside a process can
bound it: the parent watches from outside and kills. A fork server (forkserver.py) imports the judge once
and forks workers (worker.py) from it in a few milliseconds; pool.py deals out the calls.
"""

from verifier_service.workers.calls import Call, Done, Failed, Outcome, PoolStats
from verifier_service.workers.pool import PoolStartError, WorkerPool

__all__ = ["Call", "Done", "Failed", "Outcome", "PoolStartError", "PoolStats", "WorkerPool"]
