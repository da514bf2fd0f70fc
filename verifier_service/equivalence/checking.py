"""For people: can a gold be judged, and how did a decision come about?"""

from dataclasses import dataclass

from .decide import decide, tree_in
from .decision import Context, Gold, Offered
from .gold import prepare
from .nodes import Node
from .prompt import facts_of
from .reading import read
from .rules import Rules
from .slow_path import SlowPath
from .symbolic import SYMPY


@dataclass(frozen=True, slots=True)
class GoldCheck:
    """Whether a gold can be judged. kind: of its answer. code, reason: why it cannot be judged."""

    ok: bool
    kind: str
    code: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Step:
    title: str
    detail: str


def check_gold(gold: Gold, rules: Rules, context: Context) -> GoldCheck:
    """The check of /golds: the same decision that every answer to this gold would meet."""
    texts = gold.all_of or gold.any_of
    kinds = sorted({prepare(text, rules).kind for text in texts}) or ["none"]
    probe = decide(gold, Offered(fault="only the gold is checked"), rules, context)
    if probe.code is not None:
        return GoldCheck(False, kinds[0], probe.code, probe.reason)
    return GoldCheck(True, " | ".join(kinds), None, "")


def explain(
    gold: Gold, offered: Offered, rules: Rules, context: Context, slow_path: SlowPath = SYMPY
) -> list[Step]:
    """Every step of a decision, readable."""
    steps = []
    facts = facts_of(context)
    for text in gold.all_of or gold.any_of:
        prepared = prepare(text, rules)
        steps.append(Step("gold", text))
        if prepared.text != text:
            steps.append(Step("answer inside the gold", prepared.text))
        steps.append(
            Step("gold read as", f"{prepared.kind}: {_shown(prepared.trees[0] if prepared.trees else None)}")
        )
        if prepared.problem:
            steps.append(Step("gold cannot be judged", prepared.problem))
    steps.append(
        Step("offered", offered.answer if offered.answer is not None else f"nothing: {offered.fault}")
    )
    if offered.answer is not None:
        reading = read(offered.answer)
        steps.append(Step("answer read as", _shown(tree_in(reading, facts, frozenset())) or reading.words))
        if reading.refusal:
            steps.append(Step("answer not read as mathematics", reading.refusal))
    if context.prompt:
        steps.append(Step("the prompt tells", _told(context)))
    decision = decide(gold, offered, rules, context, slow_path=slow_path)
    steps.append(
        Step("decision", f"{decision.verdict or decision.code} by {decision.method}: {decision.reason}")
    )
    return steps


def _told(context: Context) -> str:
    facts = facts_of(context)
    told = []
    if facts.asks_percent:
        told.append("a percent is asked for")
    if facts.units:
        told.append("unit: " + ", ".join(unit.name for unit in facts.units))
    if facts.solve_for:
        told.append("solve for " + ", ".join(sorted(facts.solve_for)))
    if facts.base:
        told.append(f"base {facts.base}")
    if facts.ordered:
        told.append("order matters")
    if facts.asks_rounding:
        told.append("rounding is asked for")
    return "; ".join(told) or "nothing that bears on the answer"


def _shown(node: Node | None) -> str:
    """A tree as nested names, short."""
    if node is None:
        return ""
    text = _rendered(node, 0)
    return text if len(text) <= 400 else text[:400] + " ..."


def _rendered(node: Node, depth: int) -> str:
    name = type(node).__name__
    data = node.data()
    if not node.args:
        return _leaf(name, data)
    if depth > 12:
        return "..."
    inside = ", ".join(_rendered(arg, depth + 1) for arg in node.args)
    label = f"{name} {data}" if data is not None else name
    return f"{label}({inside})"


def _leaf(name: str, data: object) -> str:
    if isinstance(data, tuple) and len(data) == 2 and name in ("Num", "Repeating"):
        top, bottom = data
        if isinstance(top, int) and top.bit_length() > 400:
            return f"a number of {top.bit_length()} bits"
        return str(top) if bottom == 1 else f"{top}/{bottom}"
    return str(data)
