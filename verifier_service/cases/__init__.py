"""Labelled cases and how a judge fares on them: what `verifier check-cases` does, callable from tests.

report = cases.run([Path("math_cases.jsonl")])
assert report.as_dict()["firm"]["false_positive"] == 0
"""

from verifier_service.cases.labels import Case, CaseError, read_cases
from verifier_service.cases.report import Report

__all__ = ["Case", "CaseError", "Report", "read_cases"]
