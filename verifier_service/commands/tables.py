"""The closing tables of `score` and `check-golds`."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from verifier_service.commands.check_golds import GoldReport
from verifier_service.commands.console import one_line
from verifier_service.commands.score import Summary

SHOWN_REFUSALS = 50
SHOWN_WARNINGS = 10


def show_summary(summary: Summary, screen: Console) -> None:
    """What stands in OUT: verdicts, errors by code, the mean reward, warnings."""
    table = Table("verdict", "rows", "share", box=None, padding=(0, 2, 0, 0))
    for verdict, count in summary.verdicts.most_common():
        table.add_row(verdict, str(count), f"{count / summary.rows:.1%}")
    screen.print(table)
    mean = summary.mean_reward
    screen.print(
        Text(f"mean reward {mean:.4f} over {summary.rewards} rows" if mean is not None else "no rewards")
    )
    for code, count in summary.codes.most_common():
        told = f"error: {count} x {code}, first in {one_line(summary.examples[code], 160)}"
        screen.print(Text(told, style="yellow"), soft_wrap=True)
    for warning, count in summary.warnings.most_common(SHOWN_WARNINGS):
        screen.print(Text(f"warning: {count} x {one_line(warning, 160)}"), soft_wrap=True)


def show_golds(report: GoldReport, screen: Console) -> None:
    """Kinds of the golds that can be judged, and the first of those that cannot, each with its reason."""
    table = Table("kind", "golds", box=None, padding=(0, 2, 0, 0))
    for kind, count in report.judged.most_common():
        table.add_row(kind, str(count))
    screen.print(table)
    screen.print(Text(f"{report.judged.total()} of {report.total} golds can be judged"))
    for one in report.refused[:SHOWN_REFUSALS]:
        told = f"row {one.index}: {one.code}: {one_line(one.reason, 120)}: {one_line(str(one.gold), 120)}"
        screen.print(Text(told), soft_wrap=True)
    if len(report.refused) > SHOWN_REFUSALS:
        rest = len(report.refused) - SHOWN_REFUSALS
        screen.print(Text(f"... and {rest} more; --json FILE lists all of them"))
