"""What both clients say and hear: requests out of arguments, results out of replies; no sending.

A conversation is a generator: it yields requests, is sent the replies, and returns its result. So the client
that waits and the client that awaits hold the same conversations.
"""

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from verifier_service.schema import (
    GOLD_NAMES,
    GoldQuery,
    GoldsResponse,
    Info,
    Item,
    ItemError,
    Problem,
    ProfileSpec,
    Result,
    RulesPatch,
    ScoreResponse,
)

# Of the service, unless it says otherwise: what fits is sent at once, and only a refusal asks /info.
USUAL_ITEMS, USUAL_BYTES = 4096, 16 * 2**20
# What several servers share: a part of fewer items is not worth a request of its own.
FEWEST_ITEMS = 32
ENVELOPE_BYTES = 64
# Beyond the deadline that a request carries: for the way there and back.
GRACE_S = 5.0

Items = Sequence[Item | Mapping[str, Any]]
ProfileArgument = str | ProfileSpec | Mapping[str, Any] | None
RulesArgument = RulesPatch | Mapping[str, Any] | None


class ServiceError(Exception):
    """No answer of use came back. A wrong answer of a model never raises."""


class ServiceUnreachable(ServiceError):
    """No reply at all: nothing listens there, the network is down, or the time is over."""


class RequestRefused(ServiceError):
    """The service refused the request as a whole; `problem` says why, in its words."""

    def __init__(self, problem: Problem, retry_after_s: float | None = None) -> None:
        super().__init__(f"{problem.status} {problem.title}: {problem.detail}".rstrip(": "))
        self.problem = problem
        self.status = problem.status
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.problem, self.retry_after_s))


class UnexpectedReply(ServiceError):
    """What answered is not this service, or not a version that this client knows."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, ready to be sent."""

    method: str
    path: str
    content: bytes | None = None
    timeout_s: float | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A list to be sent, under its name, with what goes beside it into each request."""

    path: str
    name: str
    head: str = ""
    timeout_s: float | None = None
    request_id: str | None = None

    def __post_init__(self) -> None:
        if self.request_id is not None and not fits_a_header(self.request_id):
            raise ValueError(
                f"the request_id {self.request_id!r} fits into no header: it is ASCII, on one line"
            )

    def call(self, part: list[str]) -> Call:
        content = f'{{{self.head}"{self.name}":[{",".join(part)}]}}'.encode("ascii")
        return Call("POST", self.path, content, self.timeout_s, self.request_id)


_ResultT = TypeVar("_ResultT")
_ModelT = TypeVar("_ModelT", bound=BaseModel)
_RepliesT = TypeVar("_RepliesT", ScoreResponse, GoldsResponse)
Conversation = Generator[Call, httpx.Response, _ResultT]


class Conversations:
    """The conversations with one service, and the limits that are known of it."""

    def __init__(self) -> None:
        self._items, self._bytes = USUAL_ITEMS, USUAL_BYTES

    def scoring(
        self, items: Items, envelope: dict[str, Any], request_id: str | None, servers: int = 1
    ) -> list[Conversation[ScoreResponse]]:
        """One for each part of the batch: they may be held at the same time, and `joined` makes them one."""
        deadline_s = envelope.get("deadline_s")
        timeout_s = None if deadline_s is None else deadline_s + GRACE_S
        head = "".join(f"{encoded(key)}:{encoded(value)}," for key, value in envelope.items())
        asked = _Asked("/score", "items", head, timeout_s, request_id)
        share = max(-(-len(items) // servers), FEWEST_ITEMS)
        return [
            self._scoring_part(asked, part)
            for part in self._split(list(map(encoded, items)), len(head), share)
        ]

    def _scoring_part(self, asked: _Asked, part: list[str]) -> Conversation[ScoreResponse]:
        return joined((yield from self._in_parts(ScoreResponse, asked, part)))

    def checking(self, golds: Sequence[Any], request_id: str | None) -> Conversation[GoldsResponse]:
        queries = [encoded(gold if _is_query(gold) else {"gold": gold}) for gold in golds]
        asked = _Asked("/golds", "golds", request_id=request_id)
        parts = yield from self._in_parts(GoldsResponse, asked, queries)
        results = [result for part in parts for result in part.results]
        for place, result in enumerate(results):
            result.index = place
        return GoldsResponse(results=results, engine=_one_engine(parts))

    def asking(self) -> Conversation[Info]:
        reply = yield Call("GET", "/info")
        info = _read(Info, reply)
        self._items, self._bytes = info.limits.max_items, info.limits.max_body_bytes
        return info

    def _in_parts(
        self, model: type[_RepliesT], asked: _Asked, encoded: list[str]
    ) -> Conversation[list[_RepliesT]]:
        """Sends the list in as few requests as the limits allow; learns the limits where they are lower."""
        todo: list[list[str]] = list(self._split(encoded, len(asked.head)))
        done: list[Any] = []  # of model, which alone knows the kind
        learnt = False
        while todo:
            part = todo.pop(0)
            reply = yield asked.call(part)
            too_large = reply.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE
            if too_large and len(part) == 1 and model is ScoreResponse:
                done.append((yield from self._of_an_item_too_large(asked, _problem(reply))))
            elif too_large and len(part) > 1 and not learnt:
                learnt = True
                yield from self.asking()
                rest = [one for later in [part, *todo] for one in later]
                todo = list(self._split(rest, len(asked.head)))
            else:
                done.append(_checked(_read(model, reply), len(part)))
        return done

    def _of_an_item_too_large(self, asked: _Asked, refusal: Problem) -> Conversation[ScoreResponse]:
        """What the service would say of an item that fits into no request: an empty one tells who judges."""
        reply = _checked(_read(ScoreResponse, (yield asked.call([]))), 0)
        error = ItemError(
            code="invalid_item", message=f"it fits into no request: {refusal.detail}", retryable=False
        )
        result = Result(index=0, status="error", reward=None, verdict=None, error=error)
        return reply.model_copy(update={"results": [result], "rewards": [None], "errors": 1})

    def _split(self, encoded: list[str], head: int, share: int | None = None) -> Iterator[list[str]]:
        """Runs of items that fit into one request; one that fits nowhere goes alone."""
        if not encoded:
            return iter([[]])
        room = self._bytes - head - ENVELOPE_BYTES
        most = self._items if share is None else min(self._items, share)
        cuts, size = [0], 0
        for place, one in enumerate(encoded):
            size += len(one) + 1
            if place > cuts[-1] and (size > room or place - cuts[-1] >= most):
                cuts.append(place)
                size = len(one) + 1
        return (encoded[start:end] for start, end in pairwise([*cuts, len(encoded)]))


def fits_a_header(text: str) -> bool:
    return text.isascii() and text.isprintable()


def envelope_of(
    profile: ProfileArgument,
    rules: RulesArgument,
    deadline_s: float | None,
    explain: bool,
    echo_info: bool,
) -> dict[str, Any]:
    """What goes beside the items; what was not asked for is left to the service."""
    envelope = {
        "profile": profile,
        "rules": rules,
        "deadline_s": deadline_s,
        "explain": explain or None,
        "echo_info": echo_info or None,
    }
    return {name: value for name, value in envelope.items() if value is not None}


def encoded(value: Any) -> str:
    """JSON in ASCII: a lone surrogate of a model travels as an escape, and the service deals with it."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    """What json does not know: our types, mappings of every kind, numbers and arrays of numpy or torch."""
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True, exclude_unset=True)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be sent as JSON")


def _is_query(gold: object) -> bool:
    return isinstance(gold, GoldQuery) or (
        isinstance(gold, Mapping) and any(name in gold for name in GOLD_NAMES)
    )


def _read(model: type[_ModelT], reply: httpx.Response) -> _ModelT:
    if reply.status_code != httpx.codes.OK:
        raise RequestRefused(_problem(reply), retry_after(reply))
    try:
        return model.model_validate_json(reply.content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        url = reply.request.url.copy_with(userinfo=b"")
        words = f"{url} did not reply as this service does: {where} {first['msg']}"
        raise UnexpectedReply(words) from None


def _problem(reply: httpx.Response) -> Problem:
    """The problem document, or one made up where something in between has answered."""
    try:
        return Problem.model_validate({**reply.json(), "status": reply.status_code})
    except (ValueError, TypeError):
        if reply.has_redirect_location:
            to = reply.headers["location"]
            return Problem(status=reply.status_code, title=f"redirected to {to}", detail="give that address")
        text = " ".join(reply.text[:200].split())
        return Problem(status=reply.status_code, title=reply.reason_phrase, detail=text)


def retry_after(reply: httpx.Response) -> float | None:
    """Seconds from now; the header holds seconds or a date. None where it says nothing of use."""
    text = reply.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    then = _date(text)
    if then is None:
        return None
    # By the clock that the date was read from, where it is told.
    now = _date(reply.headers.get("date", "")) or datetime.now(UTC)
    return max(0.0, (then - now).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _checked(part: _RepliesT, expected: int) -> _RepliesT:
    """A reply with as many results as were asked for, each at its place."""
    if [result.index for result in part.results] != list(range(expected)):
        raise UnexpectedReply(f"{len(part.results)} results, or out of place, for {expected} that were sent")
    if isinstance(part, ScoreResponse) and part.rewards != [result.reward for result in part.results]:
        raise UnexpectedReply("the rewards are not those of the results")
    return part


def judged_alike(parts: Sequence[ScoreResponse]) -> bool:
    return len({(part.engine, part.profile_hash) for part in parts}) == 1


def joined(parts: Sequence[ScoreResponse]) -> ScoreResponse:
    """One reply of several: places count through. Raises UnexpectedReply where not all were judged alike."""
    first = parts[0]
    if len(parts) == 1:
        return first
    engine = _one_engine(parts)
    if len({part.profile_hash for part in parts}) > 1:
        raise UnexpectedReply("the profile changed between two parts of a batch")
    results = [result for part in parts for result in part.results]
    for place, result in enumerate(results):
        result.index = place
    return ScoreResponse(
        results=results,
        rewards=[reward for part in parts for reward in part.rewards],
        profile=first.profile,
        profile_hash=first.profile_hash,
        engine=engine,
        errors=sum(part.errors for part in parts),
    )


def _one_engine(parts: Sequence[ScoreResponse | GoldsResponse]) -> str:
    engines = {part.engine for part in parts}
    if len(engines) > 1:
        raise UnexpectedReply(f"the engine changed between two parts of a batch: {sorted(engines)}")
    return engines.pop()
