"""`verifier explain`: how one verdict came about, step by step."""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from verifier_service.commands.console import one_line, printable
from verifier_service.schema import Result

WIDEST = 400
COLOURS = {"correct": "bold green", "incorrect": "bold red", "no_answer": "bold yellow"}


def show(result: Result, screen: Console) -> None:
    """The verdict, where the answer stood, what each step saw, and the rewards."""
    screen.print(_headline(result))
    explanation = result.explanation or {}
    screen.print(_steps(explanation.get("steps", [])))
    for line in _remarks(result, explanation):
        screen.print(Text(line), soft_wrap=True)
    if result.scores:
        screen.print(_rewards(result))


def _headline(result: Result) -> Text:
    if result.error is not None:
        return Text(
            f"no verdict ({result.error.code}): {printable(result.error.message)}", style="bold yellow"
        )
    verdict = result.verdict or "no verdict"
    told = f"{verdict}, by {result.method}: {printable(result.reason)}"
    return Text(told, style=COLOURS.get(verdict, ""))


def _steps(steps: list[dict[str, str]]) -> Table:
    table = Table("step", "what it saw", box=None, padding=(0, 2, 0, 0), show_header=False)
    for step in steps:
        table.add_row(Text(step["title"], style="dim"), Text(one_line(step["detail"], WIDEST)))
    return table


def _remarks(result: Result, explanation: dict[str, Any]) -> list[str]:
    remarks = []
    if explanation.get("found"):
        remarks.append(f"the answer was found in: {explanation['found']}")
    if explanation.get("not_found"):
        remarks.append(f"no answer was found: {explanation['not_found']}")
    if explanation.get("tag_faults"):
        remarks.append("tag faults: " + ", ".join(explanation["tag_faults"]))
    return remarks + [f"warning: {printable(warning)}" for warning in result.warnings]


def _rewards(result: Result) -> Table:
    table = Table("reward", "score", "counts as", box=None, padding=(0, 2, 0, 0))
    for name, score in result.scores.items():
        component = result.components.get(name)
        table.add_row(name, _number(score), _number(component))
    table.add_row("sum", "", _number(result.reward))
    return table


def _number(value: float | None) -> str:
    return "null" if value is None else f"{value:g}"
