"""Labelled cases: lines of JSON that say what the judge ought to answer (docs/cli.md, check-cases).

A line becomes a Case: the items to send, what is expected of each, and how they are to be sent.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

JsonObject = dict[str, Any]

# What a policy of a case means on the wire.
POLICIES: dict[str, JsonObject] = {"lenient_extraction": {"extraction": "lenient"}}
CONTEXT = {"call_from", "burst", "kill_worker_mid_request"}
CALLERS = ("main_thread", "worker_thread", "asyncio_executor")

# Fields of a case that are fields of an item too, under the same name.
SAME_ON_THE_WIRE = (
    "prefilled_think",
    "language",
    "choices",
    "unit",
    "rules",
    "completion_tokens",
    "max_tokens",
    "truncated",
)
# A status that is met by a right verdict or by any null, never by a zero.
RETRY_OR_NULL = "retry_or_error_not_zero"


class CaseError(ValueError):
    """A line that is no labelled case. The message names the file, the line and the fault."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What one item ought to get.

    correct: paid, not paid, or None for no verdict.  format, consistent: None where not labelled.
    status: the code that a null must carry.  verdict: "incorrect" asks for a zero and forbids a null.
    """

    correct: bool | None
    format: bool | None = None
    consistent: bool | None = None
    status: str | None = None
    verdict: str | None = None


@dataclass(frozen=True, slots=True)
class ExpectedShare:
    """Share of target-language words, give or take `tol`; None where the text has no words."""

    share: float | None
    tol: float


@dataclass(frozen=True, slots=True)
class Labelled:
    """One wire item and its label."""

    item: JsonObject
    expected: Expected | ExpectedShare


@dataclass(frozen=True, slots=True)
class Limits:
    """Wall time, the memory of the largest process, and whether the service must outlive the case."""

    max_seconds: float | None = None
    max_mem_mb: float | None = None
    must_not_crash: bool = False


@dataclass(frozen=True, slots=True)
class Circumstances:
    """How the request is to be made."""

    call_from: str = "main_thread"
    burst: int = 1
    kill_worker: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    kind: str
    debatable: bool
    labelled: tuple[Labelled, ...]
    limits: Limits = Limits()
    circumstances: Circumstances = Circumstances()
    must_not_execute: bool = False
    is_batch: bool = False
    notes: tuple[str, ...] = ()  # wishes of the case that cannot be met

    @property
    def goes_alone(self) -> bool:
        """Whether the case needs a request of its own, because the request itself is watched."""
        plain = self.limits == Limits() and self.circumstances == Circumstances()
        return self.is_batch or self.must_not_execute or not plain


def read_cases(paths: Sequence[Path]) -> list[Case]:
    """All cases of the files, in order. Raises CaseError at the first line that is none."""
    return [case for path in paths for case in _cases_of(path)]


def _cases_of(path: Path) -> Iterator[Case]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                case = case_of(json.loads(line))
            except (ValueError, TypeError, RecursionError) as fault:
                raise CaseError(f"{path}, line {number}: {fault}") from fault
            yield case if case.id else replace(case, id=f"line {number}")


def case_of(row: Any) -> Case:
    """One decoded line. Raises ValueError where the line is no labelled case."""
    row = expanded(row)
    return Case(
        id=str(row.get("id", "")),
        kind=str(row.get("kind", "language" if _is_language(row) else "unnamed")),
        debatable=bool(row.get("debatable", False)),
        labelled=_labelled(row),
        limits=_limits(_part(row, "limits")),
        circumstances=_circumstances(_part(row, "context")),
        must_not_execute=bool(row.get("must_not_execute", False)),
        is_batch="batch" in row,
        notes=tuple(_unmet(row)),
    )


def _unmet(row: JsonObject) -> Iterator[str]:
    """What a case asks for and this version does not know: said aloud, for it is judged without."""
    policy = row.get("policy")
    if policy is not None and policy not in POLICIES:
        yield f'policy "{policy}" is not known'
    context = _part(row, "context")
    for name in sorted(set(context) - CONTEXT):
        yield f'context "{name}" is not known'
    if context.get("call_from", CALLERS[0]) not in CALLERS:
        yield f'caller "{context["call_from"]}" is not known'


def _part(row: JsonObject, name: str) -> JsonObject:
    part = row.get(name) or {}
    if not isinstance(part, dict):
        raise ValueError(f'"{name}" is an object')
    return part


def expanded(row: Any) -> JsonObject:
    """The row with each `NAME_spec` {prefix, unit, times, suffix} written out as NAME."""
    if not isinstance(row, Mapping):
        raise ValueError("a case is a JSON object")
    full = dict(row)
    for key, spec in row.items():
        if key.endswith("_spec") and isinstance(spec, dict):
            try:
                unit, times = str(spec["unit"]), int(spec["times"])
            except KeyError as missing:
                raise ValueError(f'"{key}" has no {missing}') from None
            text = str(spec.get("prefix", "")) + unit * times + str(spec.get("suffix", ""))
            full[key.removesuffix("_spec")] = text
            del full[key]
    return full


def _is_language(row: JsonObject) -> bool:
    return "target" in row and "text" in row


def _labelled(row: JsonObject) -> tuple[Labelled, ...]:
    if "batch" in row:
        if not isinstance(row["batch"], list):
            raise ValueError('"batch" is a list')
        entries = (expanded(entry) for entry in row["batch"])
        return tuple(Labelled(_item(row | entry), _expected(entry)) for entry in entries)
    if _is_language(row):
        return (Labelled(_language_item(row), _expected_share(row)),)
    return (Labelled(_item(row), _expected(row)),)


def _expected(row: JsonObject) -> Expected:
    label = row["expected"] if "expected" in row else row.get("correct", row)
    if label is row:
        raise ValueError('no "expected"')
    if not isinstance(label, dict):
        label = {"correct": label}
    flags = {name: label.get(name) for name in ("correct", "format", "lang_consistent")}
    for name, flag in flags.items():
        if flag is not None and not isinstance(flag, bool):
            raise ValueError(f'"{name}" of "expected" is true, false or null, not {flag!r}')
    return Expected(
        correct=flags["correct"],
        format=flags["format"],
        consistent=flags["lang_consistent"],
        status=row.get("expected_status"),
        verdict=row.get("expected_verdict"),
    )


def _expected_share(row: JsonObject) -> ExpectedShare:
    share = row.get("expected", row)
    if share is row:
        raise ValueError('no "expected"')
    return ExpectedShare(None if share is None else float(share), float(row.get("tol", 0)))


def _item(row: JsonObject) -> JsonObject:
    if "completion" not in row:
        raise ValueError('no "completion"')
    item = {"completion": row["completion"], "gold": row.get("gold")}
    if row.get("question") is not None:
        item["prompt"] = row["question"]
    item |= {name: row[name] for name in SAME_ON_THE_WIRE if row.get(name) is not None}
    if row.get("target_lang") is not None:
        item["language"] = row["target_lang"]
    rules = _rules(row)
    if rules:
        item["rules"] = rules
    item["profile"] = _profile(row)
    return item


def _rules(row: JsonObject) -> JsonObject:
    rules: JsonObject = _part(row, "rules") | POLICIES.get(row.get("policy", ""), {})
    if row.get("format_template") is not None:
        rules["template"] = row["format_template"]
    return rules


def _profile(row: JsonObject) -> JsonObject:
    """A profile with just the rewards that the label speaks of.

    The language reward belongs only where a language is asked for: without one it has no score.
    """
    rewards: JsonObject = {"accuracy": {}, "format": {"template": row.get("format_template") or "think"}}
    if row.get("target_lang") is not None or row.get("language") is not None:
        rewards["language"] = {"part": "thinking"}
    return {"schema": 1, "rewards": rewards}


def _language_item(row: JsonObject) -> JsonObject:
    # As a message, so that nothing in the text can be taken for a tag of the template.
    message = {"role": "assistant", "content": "Done.", "reasoning_content": row["text"]}
    profile = {"schema": 1, "rewards": {"language": {"part": "thinking"}}}
    return {"completion": [message], "gold": None, "language": row["target"], "profile": profile}


def _limits(limits: JsonObject) -> Limits:
    return Limits(
        max_seconds=limits.get("max_seconds"),
        max_mem_mb=limits.get("max_mem_mb"),
        must_not_crash=bool(limits.get("must_not_crash", False)),
    )


def _circumstances(context: JsonObject) -> Circumstances:
    caller = context.get("call_from")
    burst = int(context.get("burst", 1))
    if burst < 1:
        raise ValueError('"burst" is at least 1')
    return Circumstances(
        call_from=caller if caller in CALLERS else CALLERS[0],
        burst=burst,
        kill_worker=bool(context.get("kill_worker_mid_request")),
    )
