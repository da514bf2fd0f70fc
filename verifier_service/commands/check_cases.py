"""`verifier check-cases`: labelled cases held against a judge, counted by kind, every miss listed."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from verifier_service import cases
from verifier_service.cases.asking import Judge
from verifier_service.cases.running import Progress, processes_behind, run_cases
from verifier_service.commands.console import CommandError, one_line

COUNTS = ("total", "right", "false_positive", "false_negative", "null")
HEADS = ("total", "right", "false positive", "false negative", "null")


def read(paths: Sequence[Path]) -> list[cases.Case]:
    try:
        return cases.read_cases(paths)
    except cases.CaseError as fault:
        raise CommandError(str(fault), "The format of labelled cases: docs/cli.md, check-cases") from None


def check(found: Sequence[cases.Case], judge: Judge, url: str | None, progress: Progress) -> cases.Report:
    """Runs the cases; a service on this machine is watched by its processes, as the own workers are."""
    try:
        return run_cases(found, judge, processes_behind(judge, url), progress)
    except cases.CaseError as fault:
        raise CommandError(str(fault)) from None


def show(report: cases.Report, screen: Console) -> None:
    """The table of kinds, firm cases; debatable ones in a line; then what was missed."""
    screen.print(_table(report))
    debatable = report.tally(debatable=True)
    if debatable["total"]:
        told = ", ".join(f"{debatable[name]} {head}" for name, head in zip(COUNTS, HEADS, strict=True))
        screen.print(Text(f"debatable, counted apart: {told}"))
    for flag, title in ((False, "missed"), (True, "missed, debatable")):
        _show_misses(report, screen, debatable=flag, title=title)
    if len(report.pids) > 1:
        pids = ", ".join(map(str, report.pids))
        screen.print(Text(f"the service did not live through the cases: pids {pids}", style="bold red"))
    for note in report.notes:
        screen.print(Text(f"note: {note}", style="dim"))


def _table(report: cases.Report) -> Table:
    table = Table("kind", *HEADS, box=None, padding=(0, 2, 0, 0))
    for kind in report.kinds():
        _add_row(table, kind, report.tally(debatable=False, kind=kind))
    table.add_section()
    _add_row(table, "all firm", report.tally(debatable=False))
    return table


def _add_row(table: Table, name: str, tally: dict[str, int]) -> None:
    style = "" if tally["right"] == tally["total"] else "yellow"
    table.add_row(name, *(str(tally[count]) for count in COUNTS), style=style)


def _show_misses(report: cases.Report, screen: Console, *, debatable: bool, title: str) -> None:
    misses = report.misses(debatable=debatable)
    if not misses:
        return
    screen.print(Text(f"\n{title}:", style="bold"))
    for case, graded in misses:
        told = f"{case.id} ({graded.outcome}): expected {graded.expected}, got {graded.got}"
        screen.print(Text(f"  {told}  {one_line(graded.reason, 160)}"), soft_wrap=True)
