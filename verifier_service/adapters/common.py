"""What the adapters share: asking with patience, and what a trainer is told where there is no verdict."""

import asyncio
import json
import logging
import math
import os
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Any, Literal

from verifier_service.adapters.gathering import Gathering, Outcome
from verifier_service.client import (
    AsyncClient,
    Client,
    RequestRefused,
    ServiceError,
    UnexpectedReply,
)
from verifier_service.client.addresses import addresses, given
from verifier_service.conversation import ProfileArgument, RulesArgument, encoded
from verifier_service.prompts import opens_thinking
from verifier_service.schema import GOLD_NAMES, ItemError, Result

log = logging.getLogger("verifier_service.adapters")

# What stands in for a verdict that is missing: nothing, a number, or an exception.
OnNoVerdict = float | Literal["raise"] | None
Item = Mapping[str, Any]

# Statuses of a service that is full, stopping, at fault, or behind a proxy that cannot reach it. Any other
# refusal is of the request itself, and would come again with each of them.
PASSING = frozenset({408, 429, 500, 502, 503, 504})
# The budget ends the tries; their pauses grow to seconds.
RETRIES = 1000
# Several servers each get their share of it, so that a silent one leaves time for another.
SHARE_OF_SERVER = 0.4
# Where the budget is short, the service is told, so that it sends what it has in time.
SHORT_BUDGET_S, SHARE_OF_SERVICE = 15.0, 0.8
# The error rate is that of the last items, and none before there were a few; and one call that failed, be it of
# a whole step, is told by its rule alone.
RECENT, FEW, FEWEST_CALLS = 512, 128, 2
# What a worker of the service takes at once.
TOGETHER = 32
ERROR_RATE_VARIABLE, ERROR_RATE = "VERIFIER_MAX_ERROR_RATE", 0.5


class NoVerdict(RuntimeError):
    """An item has no verdict, and the rule is to raise. `code` says why: of the item, or `unreachable`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code

    def __str__(self) -> str:
        return f"no verdict ({self.code}): {self.args[1]}"


class TooManyErrors(RuntimeError):
    """More items than `max_error_rate` had no verdict of late."""


@dataclass(slots=True)
class Counts:
    """Since the start of this process: items asked about, those without a verdict, and why."""

    items: int = 0
    no_verdict: int = 0
    codes: Counter[str] = field(default_factory=Counter)


class _Book:
    """The counts of one process."""

    def __init__(self) -> None:
        self.counts = Counts()
        self._failed_calls = 0
        self._recent: deque[bool] = deque(maxlen=RECENT)
        self._lock = Lock()

    def enter(self, results: Sequence[Result]) -> tuple[bool, float]:
        """Counts these results. Returns whether it is time for a log line, and the share that failed of late."""
        with self._lock:
            failed = [result for result in results if result.reward is None]
            before = self.counts.no_verdict
            self.counts.items += len(results)
            self.counts.no_verdict += len(failed)
            self.counts.codes.update(code_of(result) for result in failed)
            self._failed_calls += bool(failed)
            self._recent.extend(result.reward is None for result in results)
            seen = len(self._recent)
            enough = seen >= FEW and self._failed_calls >= FEWEST_CALLS
            # Each doubling is told: the first at once, and a service that is away does not fill the log.
            due = self.counts.no_verdict.bit_length() > before.bit_length()
            return due, sum(self._recent) / seen if enough else 0.0


class Remote:
    """The service, as an adapter sees it: one result per item, in their order, whatever happens to it.

    url: base URL, or several with commas; else VERIFIER_URL.  api_key: else VERIFIER_API_KEY.
    profile, rules: of the items that name none; by default those of the service.
    on_no_verdict: what `paid` gives where there is no verdict.
    budget_s: how long one call may take, with all its retries.
    max_error_rate: the share of the last 512 items (from 128 on, and from the second call that fails) that may
    have no verdict; else VERIFIER_MAX_ERROR_RATE, or 0.5; 1 stops no run.
    together: how many calls of `ajudge` for single items may share a request; 1: none.
    trust_env: take proxies and certificates from the environment.
    Picklable, and safe in threads, after a fork and across event loops.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        on_no_verdict: OnNoVerdict,
        api_key: str | None = None,
        profile: ProfileArgument = None,
        rules: RulesArgument = None,
        budget_s: float = 60.0,
        max_error_rate: float | None = None,
        together: int = TOGETHER,
        trust_env: bool = False,
    ) -> None:
        if on_no_verdict not in ("raise", None) and not _is_finite(on_no_verdict):
            raise ValueError(f'on_no_verdict is "raise", None or a number, not {on_no_verdict!r}')
        self.on_no_verdict = on_no_verdict
        self.profile = profile
        self.rules = rules
        self.max_error_rate = _error_rate() if max_error_rate is None else max_error_rate
        self.deadline_s = SHARE_OF_SERVICE * budget_s if budget_s < SHORT_BUDGET_S else None
        share = SHARE_OF_SERVER if len(addresses(url)) > 1 else 1.0
        options: dict[str, Any] = {
            "api_key": api_key,
            "timeout_s": share * budget_s,
            "total_s": budget_s,
            "retries": RETRIES,
            "trust_env": trust_env,
        }
        self.client = Client(url, **options)
        self.async_client = AsyncClient(url, **options)
        self._gathering = Gathering(self._ask_together, together)
        self._books: dict[int, _Book] = {}

    @property
    def counts(self) -> Counts:
        return self._book().counts

    def judge(self, items: Sequence[Item]) -> list[Result]:
        """Raises RequestRefused where the request is wrong, TooManyErrors where too many had no verdict."""
        try:
            results = self.client.score(items, **self._options()).results
        except ServiceError as error:
            results = _failed(error, len(items))
        return self._noted(results)

    async def ajudge(self, items: Sequence[Item]) -> list[Result]:
        """As `judge`. Single items that are asked about at about the same time share a request."""
        if len(items) == 1:
            results = [await self._gathering.result(items[0])]
        else:
            results = await self._ask(items)
        return self._noted(results)

    async def _ask(self, items: Sequence[Item]) -> list[Result]:
        try:
            return (await self.async_client.score(items, **self._options())).results
        except ServiceError as error:
            return _failed(error, len(items))

    async def _ask_together(self, items: Sequence[Item]) -> Sequence[Outcome]:
        """Whoever is refused, or cannot be sent, does not take the others along: then each goes alone."""
        try:
            results = await self._ask(items)
        except (RequestRefused, TypeError, ValueError, RecursionError) as error:
            if len(items) == 1:
                return [error]
            alone = await asyncio.gather(*(self._ask_together([item]) for item in items))
            return [outcome for (outcome,) in alone]
        for result in results:
            result.index = 0
        return results

    def paid(self, result: Result) -> float | None:
        """The reward, or what stands in for it. Raises NoVerdict where that is the rule."""
        return self.or_rule(result, result.reward)

    def or_rule(self, result: Result, value: float | None) -> float | None:
        """A value of a result that has a verdict; of another one what stands in for it."""
        if result.reward is not None:
            return value
        if self.on_no_verdict == "raise":
            message = result.error.message if result.error is not None else result.reason
            raise NoVerdict(code_of(result), message)
        return None if self.on_no_verdict is None else float(self.on_no_verdict)

    def number(self, result: Result) -> float:
        """As `paid`, for a trainer that can take numbers only; None is no rule there."""
        paid = self.paid(result)
        if paid is None:
            raise NoVerdict(
                code_of(result), "this trainer cannot leave an item out; choose a number or raise"
            )
        return paid

    def close(self) -> None:
        """Closes the connections of this process; those of an event loop end with it."""
        self.client.close()

    def _options(self) -> dict[str, Any]:
        return {"profile": self.profile, "rules": self.rules, "deadline_s": self.deadline_s}

    def _noted(self, results: list[Result]) -> list[Result]:
        book = self._book()
        due, share = book.enter(results)
        counts = book.counts
        if due:
            log.warning(
                "no verdict for %d of %d items so far (%s); each counts as: %s",
                counts.no_verdict,
                counts.items,
                _told(counts.codes),
                "an exception" if self.on_no_verdict == "raise" else self.on_no_verdict,
            )
        if share > self.max_error_rate:
            words = (
                f"{share:.0%} of the last items had no verdict (max_error_rate {self.max_error_rate:.0%}):"
                f" {_told(counts.codes)}; the service is {self.client.url}"
            )
            # Some trainers make a 0 of any exception: then it stands in the log at least.
            log.error(words)
            raise TooManyErrors(words)
        return results

    def _book(self) -> _Book:
        # By process, as the connections of the client: a child must not wait for a lock of its parent.
        book = self._books.get(os.getpid())
        return book if book is not None else self._books.setdefault(os.getpid(), _Book())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_books": {}}


def remote(url: str | None = None, **options: Any) -> Remote:
    """The same Remote for the same arguments, for adapters that are functions."""
    return _made(encoded([given(url), options]))


@cache
def _made(arguments: str) -> Remote:
    url, options = json.loads(arguments)
    return Remote(url, **options)


def code_of(result: Result) -> str:
    """Why there is no verdict."""
    return result.error.code if result.error is not None else "no_verdict"


def error_flag(result: Result) -> float:
    """1.0 where there is no verdict, for the logs of a trainer."""
    return float(result.reward is None)


def score(result: Result, name: str) -> float:
    """A raw score as a number; 0.0 where the profile has no such reward, or there is no verdict."""
    return float(result.scores.get(name) or 0.0)


def gold_column(columns: Mapping[str, Any], name: str | None = None) -> Any:
    """The column with the reference answers: the one that is named, or else one that the service would know.

    Raises ValueError where there is none.
    """
    for candidate in GOLD_NAMES if name is None else (name,):
        if candidate in columns:
            return columns[candidate]
    sought = ", ".join(GOLD_NAMES) if name is None else name
    raise ValueError(f"no column with the reference answer ({sought}) among {', '.join(sorted(columns))}")


def item_of(completion: Any, gold: Any, prompt: Any = None, **more: Any) -> dict[str, Any]:
    """An item; what is None is left out, and of chat messages only what can be judged is kept."""
    item = {"completion": plain_text(completion), "gold": gold, "prompt": plain_text(prompt), **more}
    if opens_thinking(item["prompt"]):
        item["prefilled_think"] = True
    return {name: value for name, value in item.items() if value is not None or name == "gold"}


def plain_text(text: Any) -> Any:
    """Chat messages without pictures and calls of tools, which are no part of an answer; a text as it is.

    Raises TypeError for what is neither: of token ids there would be no answer, and a wrong one is no better.
    """
    if text is None or isinstance(text, str):
        return text
    return [_plain_message(message) for message in ([text] if isinstance(text, Mapping) else text)]


def _plain_message(message: Any) -> dict[str, Any]:
    role, content = _field(message, "role"), _field(message, "content")
    if role is None:
        raise TypeError(f"neither a text nor a chat message with a role: {type(message).__name__}")
    reasoning = _field(message, "reasoning_content") or _field(message, "reasoning")
    if content is not None and not isinstance(content, str):
        parts = [{"text": part} if isinstance(part, str) else part for part in content]
        reasoning = reasoning or "".join(text for _, text in _texts(parts, "thinking")) or None
        content = [{"type": str(kind or "text"), "text": text} for kind, text in _texts(parts, "text")]
    found = {"role": str(getattr(role, "value", role)), "content": content}
    return found if reasoning is None else {**found, "reasoning_content": reasoning}


def _field(of: Any, name: str) -> Any:
    """Of a mapping, or of the classes of messages and parts that chat APIs have."""
    return of.get(name) if isinstance(of, Mapping) else getattr(of, name, None)


def _texts(parts: Sequence[Any], name: str) -> list[tuple[Any, str]]:
    """Kind and text of the parts that have a text of this name."""
    return [(_field(part, "type"), text) for part in parts if isinstance(text := _field(part, name), str)]


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _error_rate() -> float:
    """For adapters that take no arguments, too. Raises ValueError for what is no share."""
    text = os.environ.get(ERROR_RATE_VARIABLE, "").strip()
    try:
        found = float(text or ERROR_RATE)
    except ValueError:
        found = math.nan
    if not 0 <= found <= 1:
        raise ValueError(f"{ERROR_RATE_VARIABLE} is a number from 0 to 1, not {text!r}")
    return found


def _failed(error: ServiceError, count: int) -> list[Result]:
    """Results for items that nobody judged. Raises the error where no other request would fare better."""
    if isinstance(error, RequestRefused):
        if error.status not in PASSING:
            raise error
        code = f"http_{error.status}"
    else:
        code = "unexpected_reply" if isinstance(error, UnexpectedReply) else "unreachable"
    told = ItemError(code=code, message=str(error), retryable=True)
    return [
        Result(index=place, status="error", reward=None, verdict=None, error=told) for place in range(count)
    ]


def _told(codes: Counter[str]) -> str:
    return ", ".join(f"{code} {count}" for code, count in codes.most_common(5))
