"""Untrusted Python values -> wire types, one at a time, so that a bad item costs one item.

The server comes here when a body does not validate as a whole; the in-process client comes here always.
"""

import difflib
import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from verifier_service.schema import (
    NAMES_OF,
    GoldQuery,
    GoldSpec,
    InvalidItem,
    Item,
    ProblemPath,
    ProfileSpec,
    RepairedItem,
    RewardSpec,
    RulesPatch,
    ScoreRequest,
    Text,
)

# How deep an item may nest, free-form values included: beyond any chat message or data row, and far below
# what the encoder of the reply or the recursion limit could stumble over.
MAX_DEPTH = 64
# The most keys where keys are names of ours: pydantic keeps an error for each that is not.
MAX_KEYS = 64
# How many faults a message names, and how many of pydantic's are looked at to find them.
_NAMED_FAULTS, _SEEN_FAULTS = 10, 100
SURROGATE_WARNING = "lone surrogates were replaced by U+FFFD"

_KNOWN_NAMES = {*Item.model_fields, *(name for names in NAMES_OF.values() for name in names)}
_ALIASES = {name: field for field, names in NAMES_OF.items() for name in names}
_ENVELOPE_NAMES = sorted(
    {
        *ScoreRequest.model_fields,
        *RulesPatch.model_fields,
        *RewardSpec.model_fields,
        *ProfileSpec.model_fields,
    }
)
# What to say where none of the shapes of a field fits; pydantic would name each shape on its own.
_SHAPES = {
    "completion": "should be a string or a list of chat messages",
    "prompt": "should be a string or a list of chat messages",
    "id": "should be a string or an integer",
    "group": "should be a string or an integer",
    "profile": "should be the name of a profile or a profile object",
}
# Words of pydantic's that speak of Python rather than of what was sent.
_PLAIN = {
    "missing": "is missing",
    "model_type": "should be an object",
    "model_attributes_type": "should be an object",
    "dict_type": "should be an object",
    "list_type": "should be a list",
    "string_type": "should be a string",
    "int_parsing_size": "should be a smaller number",
    "too_short": "should not be empty",
}
# Longer paths are cut in the middle: enough to find the place, short enough for a log line.
_PATH_STEPS = 12


class Unreadable(ValueError):
    """A value that JSON or this service has no room for, with the path to it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.path: list[str | int] = []


class _Cleaner:
    """Copies a JSON-like value with lone surrogates replaced; refuses NaN, infinities and depth."""

    def __init__(self) -> None:
        self.repaired = False

    def clean(self, value: Any, room: int = MAX_DEPTH) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return self._mapping(value, room)
        if isinstance(value, list | tuple):
            return self._sequence(value, room)
        if isinstance(value, float) and not math.isfinite(value):
            raise Unreadable("should be a finite number")
        return value

    def _text(self, text: str) -> str:
        if text.isascii():
            return text
        try:
            text.encode()
        except UnicodeEncodeError:
            self.repaired = True
            # UTF-16 puts an escaped pair together again before what is left over is replaced.
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text

    def _mapping(self, value: dict[Any, Any], room: int) -> dict[Any, Any]:
        self._enter(room)
        cleaned = {}
        for key, member in value.items():
            key = self._text(key) if isinstance(key, str) else key
            try:
                cleaned[key] = self.clean(member, room - 1)
            except Unreadable as error:
                error.path.insert(0, key if isinstance(key, str) else repr(key))
                raise
        return cleaned

    def _sequence(self, value: Iterable[Any], room: int) -> list[Any]:
        self._enter(room)
        cleaned = []
        for place, member in enumerate(value):
            try:
                cleaned.append(self.clean(member, room - 1))
            except Unreadable as error:
                error.path.insert(0, place)
                raise
        return cleaned

    @staticmethod
    def _enter(room: int) -> None:
        if room <= 0:
            raise Unreadable(f"nests deeper than {MAX_DEPTH} levels")


def clean(value: Any) -> tuple[Any, bool]:
    """The value with lone surrogates replaced, and whether there were any. Raises Unreadable."""
    cleaner = _Cleaner()
    return cleaner.clean(value), cleaner.repaired


def check_width(value: Any, names: Iterable[str] | None = None) -> None:
    """Raises Unreadable where an object whose keys are names of ours has far too many of them.

    `names`: look below these keys only, and let the object itself have as many as it likes.
    """
    if not isinstance(value, dict):
        return
    if names is None and len(value) > MAX_KEYS:
        raise Unreadable(f"has more than {MAX_KEYS} keys")
    for name in value if names is None else names:
        try:
            check_width(value.get(name))
        except Unreadable as error:
            error.path.insert(0, name)
            raise


def read_item(raw: object, path: str) -> Item | InvalidItem:
    """One item of a batch; `path` (such as "items[3]") is how a message names it. Never raises."""
    try:
        value, repaired = clean(raw)
        check_width(value, ("rules", "profile"))
        if not repaired:
            return Item.model_validate(value)
        item = RepairedItem.model_validate(value)
    except Unreadable as error:
        return InvalidItem(f"{path_text(error.path, path)} {error.message}", id=_id_of(raw))
    except ValidationError as error:
        return InvalidItem(_sentence(error, value, path), id=_id_of(value))
    item._notes = (SURROGATE_WARNING,)
    return item


def read_gold(raw: object, path: str) -> GoldQuery | InvalidItem:
    """One query of /golds, in the manner of `read_item`."""
    try:
        value, _ = clean(raw)
        check_width(value)
        return GoldQuery.model_validate(value)
    except Unreadable as error:
        return InvalidItem(f"{path_text(error.path, path)} {error.message}")
    except ValidationError as error:
        return InvalidItem(_sentence(error, value, path))


def free_form_fault(item: Item, path: str) -> str | None:
    """What is wrong with the parts of an item that its types leave open, if anything is.

    An item read straight from bytes has its types checked, but not the values under unknown keys, in `info`
    or in the parts of a message.
    """
    plain = isinstance(item.completion, str) and isinstance(item.prompt, str | None)
    if plain and not item.model_extra and item.info is None:
        return None
    free: dict[str, Any] = {**(item.model_extra or {}), "info": item.info}
    for name, text in (("completion", item.completion), ("prompt", item.prompt)):
        if isinstance(text, list):
            free[name] = [{"content": message.content} for message in text]
    try:
        clean(free)
    except Unreadable as error:
        return f"{path_text(error.path, path)} {error.message}"
    return None


def item_info(item: Item) -> dict[str, Any] | None:
    """`info` together with the keys that no field claims, None where there is neither."""
    if not item.model_extra:
        return item.info
    extra = {key: value for key, value in item.model_extra.items() if not _repeats(item, key, value)}
    return {**extra, **(item.info or {})} or None


def item_warnings(item: Item) -> list[str]:
    """What the sender should know about how an item was read."""
    notes = list(item._notes) if isinstance(item, RepairedItem) else []
    for key, value in islice((item.model_extra or {}).items(), MAX_KEYS):
        field = _ALIASES.get(key)
        if field is None:
            if nearest := _nearest_name(key):
                notes.append(f'unknown key "{key}" was put into info; is it a misspelling of "{nearest}"?')
        elif not _repeats(item, key, value):
            notes.append(f'"{key}" differs from the {field} that was taken, and was ignored')
    return notes


_ModelT = TypeVar("_ModelT", bound=BaseModel)
_TEXT: TypeAdapter[Any] = TypeAdapter(Text | None)
_GOLD: TypeAdapter[Any] = TypeAdapter(GoldSpec)


def _repeats(item: Item, key: str, value: object) -> bool:
    """Whether a second name of a field says what the field says already."""
    field = _ALIASES.get(key)
    if field is None:
        return False
    try:
        parsed = (_GOLD if field == "gold" else _TEXT).validate_python(value)
    except ValidationError:
        return False
    return bool(parsed == getattr(item, field))


@lru_cache(maxsize=4096)
def _nearest_name(key: str) -> str | None:
    """A name of an item that is one slip away: a letter dropped, added, changed or swapped.

    By look-up, not by comparing with each name: a hostile item has a million keys.
    """
    if len(key) > 40:
        return None
    plain = key.lower().replace("-", "_").replace(" ", "_")
    if plain in _KNOWN_NAMES:
        return plain
    for shorter in (plain, *_shortened(plain)):
        name = _ONE_SLIP.get(shorter)
        if name and name[0] == plain[0] and _is_slip(plain, name):
            return name
    return None


def _is_slip(key: str, name: str) -> bool:
    """Short names have real words for neighbours (gold, goal): no letter of theirs may have been changed."""
    return len(name) > 6 or len(name) != len(key) or sorted(name) == sorted(key)


def _shortened(name: str) -> list[str]:
    return [name[:place] + name[place + 1 :] for place in range(len(name))]


_ONE_SLIP = {
    form: name for name in sorted(_KNOWN_NAMES) if len(name) > 3 for form in (name, *_shortened(name))
}


def _id_of(raw: object) -> str | int | None:
    found = raw.get("id") if isinstance(raw, dict) else None
    if isinstance(found, str):
        return _Cleaner().clean(found)  # type: ignore[no-any-return]
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _sentence(error: ValidationError, root: object, path: str) -> str:
    return "; ".join(f"{fault.path} {fault.message}" for fault in faults(error, root, path))


def faults(error: ValidationError, root: object, prefix: str = "") -> list[ProblemPath]:
    """The errors of pydantic as paths into the value that was sent, the deepest of each field.

    A union reports every shape that did not fit, with the name of the shape in the location; walking the
    value tells which parts of a location are keys of the sender and which are such names.
    """
    by_field: dict[object, list[tuple[list[str | int], ErrorDetails]]] = {}
    details = error.errors(include_url=False, include_context=False, include_input=False)
    for detail in details[:_SEEN_FAULTS]:
        path = _path_within(root, detail)
        by_field.setdefault(path[0] if path else None, []).append((path, detail))
    found: dict[str, str] = {}
    for entries in by_field.values():
        deepest = max(len(path) for path, _ in entries)
        for path, detail in entries:
            if len(path) == deepest:
                text = path_text(path, prefix)
                found[text] = _merged(found.get(text), path, detail)
    return [ProblemPath(path=path, message=message) for path, message in found.items()][:_NAMED_FAULTS]


def _merged(before: str | None, path: list[str | int], detail: ErrorDetails) -> str:
    if before is not None:
        field = _ALIASES.get(str(path[-1]), str(path[-1])) if path else ""
        return _SHAPES.get(field, before)
    if detail["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(path[-1])[:60], _ENVELOPE_NAMES, n=1)
        return "is not a known key" + (f'; did you mean "{near[0]}"?' if near else "")
    return _PLAIN.get(detail["type"], detail["msg"].removeprefix("Input "))


def _path_within(root: object, detail: ErrorDetails) -> list[str | int]:
    path: list[str | int] = []
    here: Any = root
    for place, step in enumerate(detail["loc"]):
        if (isinstance(here, dict) and step in here) or (isinstance(here, list) and isinstance(step, int)):
            here = here[step]  # type: ignore[index]
            path.append(step)
        elif detail["type"] == "missing" and place == len(detail["loc"]) - 1:
            path.append(step)
    return path


def path_text(path: Iterable[str | int], prefix: str = "") -> str:
    """items, 3, completion -> "items[3].completion"; what is long in it is cut."""
    text = prefix
    steps = list(path)
    if len(steps) > _PATH_STEPS:
        steps = [*steps[: _PATH_STEPS - 2], "...", steps[-1]]
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = step if len(step) <= 60 else step[:57] + "..."
            text += f".{name}" if text else name
    return text or "the value"
