"""Labelled cases and how a judge fares on them: what `verifier check-cases` does, callable from tests.

`cases.run([path]).as_dict()["firm"]["false_positive"]` is a number to assert on.
"""

from collections.abc import Sequence
from pathlib import Path

from verifier_service.cases.labels import Case, CaseError, read_cases
from verifier_service.cases.report import Report
from verifier_service.cases.running import processes_behind, run_cases

__all__ = ["Case", "CaseError", "Report", "read_cases", "run"]


def run(paths: Sequence[Path], *, workers: int | None = None) -> Report:
    """Judges the cases of the files in process, on worker processes of its own.

    Raises CaseError for a line that is no case, and what `LocalClient` raises.
    """
    from verifier_service.local import LocalClient  # needs the server's dependencies; reading cases does not

    found = read_cases(paths)
    with LocalClient(workers) as judge:
        return run_cases(found, judge, processes_behind(judge, None), lambda done: None)
