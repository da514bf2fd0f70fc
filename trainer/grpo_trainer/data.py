"""The questions of a run: read, checked and put in order."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl

from pydantic import TypeAdapter, ValidationError

from grpo_trainer.config import DataConfig, TemplateConfig
from grpo_trainer.templates import Prompt, Template, Tokenizer, make_template
from verifier_service.schema import (
    GOLD_NAMES,
    PROMPT_NAMES,
    GoldQuery,
    GoldSpec,
    GoldsResponse,
    RulesPatch,
)

GOLD: TypeAdapter[Any] = TypeAdapter(GoldSpec)
GOLDS_PER_REQUEST = 256
Row = Mapping[str, Any]


class DataError(ValueError):
    """Data that cannot be used; the message names the place and the fix."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One question with its right answer.

    id: the row's own, else its number.  gold: as the service takes it: text, number, list = any of, or
    {"any_of": ...} and {"all_of": ...}.  facts: further columns that the service reads by the same name.
    """

    id: str
    question: str
    gold: Any
    facts: Mapping[str, Any]


FACTS = ("language", "unit", "choices", "data_source")


class GoldChecker(Protocol):
    """The part of the service's client that is used here."""

    def check_golds(self, golds: Sequence[GoldQuery]) -> GoldsResponse: ...


@dataclass(frozen=True, slots=True)
class RefusedGold:
    """A problem whose gold the service cannot judge, and why."""

    problem: Problem
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class GoldReport:
    """kept: problems to train on, in their order.  refused: those left out."""

    kept: tuple[Problem, ...]
    refused: tuple[RefusedGold, ...]

    def summary(self) -> str:
        """One line for the log."""
        if not self.refused:
            return f"all {len(self.kept)} golds can be judged"
        codes = ", ".join(f"{n} {code}" for code, n in Counter(r.code for r in self.refused).most_common())
        return f"{len(self.kept)} golds can be judged, {len(self.refused)} cannot ({codes})"


@dataclass(frozen=True, slots=True)
class Prepared:
    """asked: problems with their prompts.  too_long: how many prompts exceeded the limit."""

    asked: tuple[tuple[Problem, Prompt], ...]
    too_long: int


def load_problems(config: DataConfig) -> list[Problem]:
    """The problems of data.train, in the order of the file.

    Raises DataError naming the row if a question or gold is missing or of no use, and if there is none.
    """
    problems = [
        problem_from(row, place, config) for place, row in islice(read_rows(config.train), config.limit)
    ]
    if not problems:
        raise DataError(f"{config.train} holds no rows")
    return problems


def read_rows(source: str) -> Iterator[tuple[str, Row]]:
    """Rows with the place each came from, for messages. The kind is told by the name.

    FILE.jsonl, FILE.parquet, or hf:OWNER/NAME?split=train&config=NAME (also hf:FOLDER).
    """
    if source.startswith("hf:"):
        yield from _hub_rows(source.removeprefix("hf:"))
        return
    path = Path(source)
    readers = {".jsonl": _jsonl_rows, ".parquet": _parquet_rows}
    if path.suffix not in readers:
        raise DataError(
            f'cannot tell what "{source}" is: give FILE.jsonl, FILE.parquet or hf:OWNER/NAME?split=train'
        )
    if not path.is_file():
        raise DataError(f"no file {source}")
    yield from readers[path.suffix](path)


def problem_from(row: Row, place: str, config: DataConfig) -> Problem:
    """One row as a problem. Columns are found by the configured name, else by the names of the service."""
    question = _question(_column(row, config.prompt_field, PROMPT_NAMES, "data.prompt_field", place), place)
    gold = _column(row, config.gold_field, GOLD_NAMES, "data.gold_field", place)
    try:
        gold = GOLD.validate_python(gold)
    except ValidationError:
        raise DataError(
            f"{place}: the gold is neither text, number nor a list of them: {gold!r:.80}"
        ) from None
    if gold is None:
        raise DataError(f"{place}: the gold is null: leave the row out, or name another data.gold_field")
    facts = {name: row[name] for name in FACTS if row.get(name) is not None}
    if config.language is not None:
        facts.setdefault("language", config.language)
    return Problem(str(row.get("id", place)), question, gold, facts)


def check_golds(
    problems: Sequence[Problem], checker: GoldChecker, *, rules: RulesPatch | None = None, stop: bool = False
) -> GoldReport:
    """Asks the service which golds it can judge, before a run spends hours on the others.

    stop: refuse to begin if any gold cannot be judged. Raises DataError then, and always if none can;
    errors of the client (service not there) pass through.
    """
    kept: list[Problem] = []
    refused: list[RefusedGold] = []
    for start in range(0, len(problems), GOLDS_PER_REQUEST):
        chunk = problems[start : start + GOLDS_PER_REQUEST]
        queries = [GoldQuery(gold=p.gold, prompt=p.question, rules=rules) for p in chunk]
        answers = checker.check_golds(queries).results
        for problem, answer in zip(chunk, answers, strict=True):
            if answer.ok:
                kept.append(problem)
            else:
                refused.append(RefusedGold(problem, answer.code or "unverifiable_gold", answer.reason))
    report = GoldReport(tuple(kept), tuple(refused))
    if refused and (stop or not kept):
        first = "\n".join(f"  {r.problem.id}: {r.problem.gold!r:.60} ({r.reason})" for r in refused[:5])
        fix = "mend them, or set data.bad_golds=drop" if kept else "is data.gold_field the right column?"
        raise DataError(f"{report.summary()}; the first:\n{first}\n{fix}")
    return report


def load_template(config: TemplateConfig, tokenizer: Tokenizer) -> Template:
    """The template of a run, with the examples that template.examples names."""
    rows = [] if config.examples is None else [row for _, row in read_rows(config.examples)]
    return make_template(config, tokenizer, rows)


def prepare(problems: Sequence[Problem], template: Template, max_prompt_tokens: int) -> Prepared:
    """Prompts of all problems; those longer than the limit are left out and counted.

    Raises DataError if none is left.
    """
    prompts = [(problem, template.render(problem.question)) for problem in problems]
    asked = tuple((p, prompt) for p, prompt in prompts if len(prompt.token_ids) <= max_prompt_tokens)
    if not asked:
        shortest = min(len(prompt.token_ids) for _, prompt in prompts)
        raise DataError(
            f"every prompt exceeds data.max_prompt_tokens={max_prompt_tokens}; the shortest has {shortest}"
        )
    return Prepared(asked, len(prompts) - len(asked))


@dataclass(frozen=True, slots=True)
class DataOrder:
    """Which question comes when, as a function of one number, so that a checkpoint stores just that.

    count: how many questions.  seed, shuffle: a new order in every pass, or the order of the file.
    """

    count: int
    seed: int
    shuffle: bool = True

    def index(self, position: int) -> int:
        """The question at this position of the endless sequence of passes over the data."""
        turn, place = divmod(position, self.count)
        return _permutation(self.count, self.seed, turn)[place] if self.shuffle else place

    def indices(self, position: int, count: int) -> list[int]:
        """The next so many questions from a position."""
        return [self.index(p) for p in range(position, position + count)]


@lru_cache(maxsize=4)
def _permutation(count: int, seed: int, turn: int) -> tuple[int, ...]:
    order = list(range(count))
    random.Random(f"{seed}/{turn}").shuffle(order)
    return tuple(order)


def _column(row: Row, name: str | None, usual: Sequence[str], option: str, place: str) -> Any:
    """The value of a column by its configured name (dots reach into nested ones) or the first usual one."""
    if name is None:
        found = next((n for n in usual if n in row), None)
        if found is None:
            raise DataError(
                f"{place}: none of the columns {', '.join(usual)}: set {option} to one of {_names(row)}"
            )
        return row[found]
    value: Any = row
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise DataError(f'{place}: no column "{name}": set {option} to one of {_names(row)}')
        value = value[part]
    return value


def _question(value: Any, place: str) -> str:
    """Text, or a conversation of a single user message, as many data sets have it."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping):
        value = value[0].get("content") if value[0].get("role") == "user" else None
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{place}: the question is neither text nor a single user message: {value!r:.80}")
    return value


def _needed(module: str, what: str) -> Any:
    """An optional package, imported where it is first needed."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        package = module.partition(".")[0]
        raise DataError(f"{what} need the package {package}: pip install {package}") from None


def _names(row: Row) -> str:
    return ", ".join(row) or "(the row is empty)"


def _jsonl_rows(path: Path) -> Iterator[tuple[str, Row]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            place = f"{path.name}:{number}"
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise DataError(f"{place}: not JSON: {error}") from None
            if not isinstance(row, dict):
                raise DataError(f"{place}: a row must be an object, not {type(row).__name__}")
            yield place, row


def _parquet_rows(path: Path) -> Iterator[tuple[str, Row]]:
    parquet = _needed("pyarrow.parquet", "parquet files")
    number = 0
    for batch in parquet.ParquetFile(path).iter_batches(batch_size=1024):
        for row in batch.to_pylist():
            yield f"{path.name} row {number}", row
            number += 1


def _hub_rows(source: str) -> Iterator[tuple[str, Row]]:
    name, _, query = source.partition("?")
    wanted = dict(parse_qsl(query, keep_blank_values=True))
    if unknown := set(wanted) - {"split", "config", "revision"}:
        raise DataError(f'hf:{source}: no such part "{min(unknown)}"; known: split, config, revision')
    rows = _needed("datasets", "hub data sets").load_dataset(
        name, wanted.get("config"), split=wanted.get("split", "train"), revision=wanted.get("revision")
    )
    for number, row in enumerate(rows):
        yield f"{name} row {number}", row
