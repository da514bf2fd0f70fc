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
    """The verdict; the parts of the text; the steps of the decision; the rewards and what each of them saw."""
    screen.print(_headline(result), soft_wrap=True)
    explanation = result.explanation or {}
    if explanation:
        screen.print(_pairs([*_parts(explanation), *_steps(explanation)]))
    for warning in result.warnings:
        screen.print(Text(f"warning: {printable(warning)}"), soft_wrap=True)
    if result.scores:
        screen.print()
        screen.print(_rewards(result, explanation.get("rewards", {})))


def _headline(result: Result) -> Text:
    if result.error is not None:
        told = f"no verdict ({result.error.code}): {printable(result.error.message)}"
        return Text(told, style="bold yellow")
    if result.verdict is None:
        return Text("no verdict asked for")
    by = "" if result.method in (None, "none") else f", by {result.method}"
    told = f"{result.verdict}{by}: {printable(result.reason)}"
    return Text(told, style=COLOURS[result.verdict])


def _parts(explanation: dict[str, Any]) -> list[tuple[str, str]]:
    """What the completion was taken apart into."""
    text, spans = explanation["text"], explanation["spans"]
    parts = [(name, text[slice(*spans[name])]) for name in ("thinking", "response") if spans.get(name)]
    if explanation["tag_faults"]:
        parts.append(("faults of the tags", ", ".join(explanation["tag_faults"])))
    if explanation["not_found"]:
        return [*parts, ("no answer found", explanation["not_found"])]
    start = (spans.get("answer") or (None,))[0]
    place = "" if start is None else f", from character {start}"
    return [*parts, ("answer found in", explanation["found"] + place)]


def _steps(explanation: dict[str, Any]) -> list[tuple[str, str]]:
    return [(step["title"], step["detail"]) for step in explanation["steps"]]


def _pairs(rows: list[tuple[str, str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for title, detail in rows:
        table.add_row(Text(title), Text(one_line(detail, WIDEST)))
    return table


def _rewards(result: Result, details: dict[str, Any]) -> Table:
    table = Table("reward", "score", "counts as", "what it saw", box=None, padding=(0, 2, 0, 0))
    for name, score in result.scores.items():
        seen = Text(one_line(_seen(details.get(name, {})), WIDEST))
        table.add_row(Text(name), _number(score), _number(result.components.get(name)), seen)
    table.add_row("sum", "", _number(result.reward), "")
    return table


def _seen(detail: dict[str, Any]) -> str:
    """The details of a reward as text; the verdict and its reason stand above already."""
    told = {name: value for name, value in detail.items() if name not in ("verdict", "reason")}
    return "; ".join(f"{name.replace('_', ' ')}: {_plain(value)}" for name, value in told.items())


def _plain(value: Any) -> str:
    """A value without the brackets and quotes of Python."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(member)}" for name, member in value.items())
    if isinstance(value, list):
        return " | ".join(map(_plain, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else "none" if value is None else str(value)


def _number(value: float | None) -> str:
    return "null" if value is None else f"{value:g}"
