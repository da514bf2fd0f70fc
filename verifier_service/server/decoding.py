"""Bytes -> batches. One pass of pydantic where all is well; item by item where something is not."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from annotated_types import MaxLen
from pydantic import BaseModel, FailFast, ValidationError, create_model

from verifier_service.reading import (
    Unreadable,
    check_width,
    clean,
    faults,
    free_form_fault,
    path_text,
    read_gold,
    read_item,
)
from verifier_service.schema import (
    GoldQuery,
    GoldsRequest,
    InvalidItem,
    Item,
    ProblemPath,
    ProfileSpec,
    RulesPatch,
    ScoreRequest,
)
from verifier_service.server.problems import ProblemError
from verifier_service.server.settings import variable

DEFAULT_MAX_VALUES = 131_072
# Every value of a JSON text but the first stands behind one of these.
_SEPARATORS = b",[{"
_SAMPLE = 65536
_BACKSLASH = ord("\\")
_FAR_APART = 100  # bytes between two quotation marks
# A string of JSON, or what there is of one that is cut off; linear, for it never goes back.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_ALL_BUT_SEPARATORS = bytes(set(range(256)) - set(_SEPARATORS))
# The most digits that Python converts by default; the conversion takes quadratic time.
_MAX_DIGITS = 4300
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Batch:
    """A decoded /score request: as many items, good or bad, as were sent."""

    items: list[Item | InvalidItem]
    profile: str | ProfileSpec | None = None
    rules: RulesPatch | None = None
    deadline_s: float | None = None
    explain: bool = False
    echo_info: bool = False


class Decoder:
    """Decodes bodies of at most `max_items` items (or golds) and `max_values` values in all.

    The values are counted before any is built: millions of them would fit into a body, and hold the event
    loop for seconds.
    """

    def __init__(self, max_items: int, max_values: int = DEFAULT_MAX_VALUES) -> None:
        self._max_items = max_items
        self._max_values = max_values
        # The limit is part of the type, so that a list too long is refused before its items are built.
        few = (MaxLen(max_items), FailFast())
        self._score = create_model(
            "BoundedScoreRequest", __base__=ScoreRequest, items=(Annotated[list[Item], *few], ...)
        )
        self._golds = create_model(
            "BoundedGoldsRequest", __base__=GoldsRequest, golds=(Annotated[list[GoldQuery], *few], ...)
        )

    def score(self, body: bytes) -> Batch:
        """The batch of a /score body. Raises ProblemError where not even the envelope can be read."""
        self._check_values(body)
        try:
            request: ScoreRequest = self._score.model_validate_json(body)
        except ValidationError as error:
            self._check_count(error, "items")
            envelope, items = self._piecemeal(body, "items", read_item)
            request = _validated(ScoreRequest, {**envelope, "items": []})
        else:
            items = [
                item if (fault := free_form_fault(item, f"items[{place}]")) is None else _faulty(item, fault)
                for place, item in enumerate(request.items)
            ]
        return Batch(
            items, request.profile, request.rules, request.deadline_s, request.explain, request.echo_info
        )

    def golds(self, body: bytes) -> list[GoldQuery | InvalidItem]:
        """The queries of a /golds body."""
        self._check_values(body)
        try:
            request: GoldsRequest = self._golds.model_validate_json(body)
            return list(request.golds)
        except ValidationError as error:
            self._check_count(error, "golds")
            envelope, golds = self._piecemeal(body, "golds", read_gold)
            _validated(GoldsRequest, {**envelope, "golds": []})
            return golds

    def document(self, body: bytes) -> dict[str, Any]:
        """A body of another shape than ours: an object that JSON can hold, as bounded as the others."""
        self._check_values(body)
        value = _decoded(body)
        if not isinstance(value, dict):
            raise ProblemError(422, "invalid-request", "the body should be an object")
        try:
            cleaned: dict[str, Any] = clean(value)[0]
        except Unreadable as error:
            raise _invalid([ProblemPath(path=path_text(error.path), message=error.message)]) from None
        return cleaned

    def _piecemeal(
        self, body: bytes, name: str, read: Callable[[object, str], _T]
    ) -> tuple[dict[str, Any], list[_T]]:
        """The envelope as it came and its list, read one by one."""
        value = _decoded(body)
        if not isinstance(value, dict):
            raise ProblemError(422, "invalid-request", f'the body should be an object {{"{name}": [...]}}')
        if name not in value:
            raise _invalid([ProblemPath(path=name, message="is missing")])
        raw = value.pop(name)
        if not isinstance(raw, list):
            raise _invalid([ProblemPath(path=name, message="should be a list")])
        if len(raw) > self._max_items:
            raise self._too_many(len(raw), name)
        return value, [read(one, f"{name}[{place}]") for place, one in enumerate(raw)]

    def _check_values(self, body: bytes) -> None:
        if not more_values_than(self._max_values, body):
            return
        setting = variable("max_values")
        raise ProblemError(
            413,
            "too-many-values",
            f"the body holds more than {self._max_values} values; send fewer items a request, leave out"
            f" what judging does not need (such as token ids), or raise {setting}",
            limit=self._max_values,
            setting=setting,
        )

    def _check_count(self, error: ValidationError, name: str) -> None:
        """Where the count is what pydantic met first, a second decoding would only cost time."""
        if error.error_count() == 1:
            detail = error.errors(include_url=False, include_input=False)[0]
            if detail["type"] == "too_long" and detail["loc"] == (name,):
                raise self._too_many(detail["ctx"]["actual_length"], name)

    def _too_many(self, count: int, name: str) -> ProblemError:
        setting = variable("max_items")
        return ProblemError(
            413,
            "too-many-items",
            f"{count} {name} are more than {self._max_items}; split the batch, or raise {setting}",
            limit=self._max_items,
            setting=setting,
        )


def more_values_than(most: int, body: bytes) -> bool:
    """Whether a JSON text holds more values than this; of what is no JSON, whether reading it could cost so.

    Separators are counted first as they stand, those within texts included, which is cheap and nearly
    always enough. Only where it is not, or where the beginning says that it will not be, the texts are left out.
    """
    if len(body) <= most:
        return False
    sample = body[:_SAMPLE]
    if _separators(sample) * len(body) < most * len(sample) and _separators(body) < most:
        return False
    return _separators(_outside_texts(body, most)) >= most


def _separators(text: bytes) -> int:
    return len(text.translate(None, _ALL_BUT_SEPARATORS))


def _outside_texts(body: bytes, most: int) -> bytes:
    """What of a JSON text stands outside its strings, for one of at most so many values.

    Of a longer one the rest may be returned as it is: it is refused in any case. A value has at most two
    strings, itself and its key.
    """
    if body.count(b'"') * _FAR_APART > len(body):
        return _STRING.sub(b"", body, count=2 * most)
    # Few and long strings, as batches have: leaping from mark to mark takes a tenth of the time.
    outside: list[bytes] = []
    inside, start = False, 0
    while (mark := body.find(b'"', start)) >= 0:
        if not inside:
            outside.append(body[start:mark])
            inside = True
        elif body[mark - 1] != _BACKSLASH or _is_free(body[start:mark]):
            inside = False
        start = mark + 1
    return b"".join(outside) if inside else b"".join((*outside, body[start:]))


def _is_free(text: bytes) -> bool:
    """Whether a quotation mark behind this part of a string ends it, and is not an escaped one."""
    return (len(text) - len(text.rstrip(b"\\"))) % 2 == 0


def _faulty(item: Item, fault: str) -> InvalidItem:
    return InvalidItem(fault, id=item.id)


def _integer(digits: str) -> int | str:
    """An integer; one too long for Python stays text, which as a gold is as good and elsewhere is refused."""
    return int(digits) if len(digits) <= _MAX_DIGITS else digits


_DECODER = json.JSONDecoder(parse_int=_integer)


def _decoded(body: bytes) -> Any:
    """The body by the standard library, which takes what pydantic refuses: lone surrogates, NaN."""
    try:
        return _DECODER.decode(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        detail = f"the body is not UTF-8: byte {error.start} does not decode"
        raise ProblemError(422, "invalid-body", detail) from None
    except json.JSONDecodeError as error:
        detail = f"the body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise ProblemError(422, "invalid-body", detail) from None
    except RecursionError:
        raise ProblemError(422, "invalid-body", "the body nests too deep to be decoded") from None


_ModelT = TypeVar("_ModelT", bound=BaseModel)


def _validated(model: type[_ModelT], envelope: dict[str, Any]) -> _ModelT:
    try:
        envelope, _ = clean(envelope)
        check_width(envelope)
        return model.model_validate(envelope)
    except Unreadable as error:
        raise _invalid([ProblemPath(path=path_text(error.path), message=error.message)]) from None
    except ValidationError as error:
        raise _invalid(faults(error, envelope)) from None


def _invalid(errors: list[ProblemPath]) -> ProblemError:
    detail = "; ".join(f"{error.path} {error.message}" for error in errors)
    return ProblemError(422, "invalid-request", detail, errors=errors)
