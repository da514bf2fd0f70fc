"""Carries the requests of a conversation to a server that answers: choice, retries, pauses, time.

Like the conversations it sends nothing and sleeps nowhere: it yields what is to be done, so that both clients
do the same.
"""

import math
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

import httpx

from verifier_service.client.servers import FULL_STATUSES, GATEWAY_STATUSES, Resting, Server, Servers
from verifier_service.conversation import Call, Conversation, ServiceUnreachable, retry_after

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 5.0
# Nobody has read the request, or whoever read it is gone. A reply that stays out is another matter.
GONE = (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ConnectTimeout, httpx.ProxyError)
LEAST_S = 0.001
PASSING_STATUSES = FULL_STATUSES | GATEWAY_STATUSES


@dataclass(frozen=True, slots=True)
class Sending:
    """To be sent; the reply goes back in, or what httpx raised is thrown in."""

    call: Call
    url: str
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Pause:
    """To be slept."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Patience:
    """timeout_s: of a request that has no deadline of its own.  retries: of a request, beyond the first try.

    Waits that a full service asks for are no tries; in all they may last as long as a request.
    total_s: of everything that one call of the client does; None: as long as the retries take.
    """

    timeout_s: float
    retries: int
    total_s: float | None = None


_ResultT = TypeVar("_ResultT")
Step = Sending | Pause
Journey = Generator[Step, httpx.Response | None, _ResultT]


@dataclass(frozen=True, slots=True)
class _Try:
    """What came of one try; `again_s`: in how long it is worth another one, by its own words."""

    reply: httpx.Response | None = None
    error: Exception | None = None
    words: str = ""
    worth_another: bool = False
    again_s: float | None = None
    server: Server | None = None

    @property
    def was_told_when(self) -> bool:
        return self.reply is not None and self.again_s is not None


class Courier:
    """Of one client, in one process. A verdict is never asked for twice, whatever it is."""

    def __init__(
        self,
        servers: Servers,
        patience: Patience,
        *,
        clock: Callable[[], float],
        jitter: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self.servers = servers
        self._patience = patience
        self._clock = clock
        self._jitter = jitter

    def end(self) -> float:
        """When a call that begins now has to be over."""
        total_s = self._patience.total_s
        return math.inf if total_s is None else self._clock() + total_s

    def carry(self, conversation: Conversation[_ResultT], ends: float) -> Journey[_ResultT]:
        """Holds the conversation. Raises ServiceUnreachable, and what the conversation raises."""
        try:
            call = next(conversation)
            while True:
                reply = yield from self._delivered(call, ends)
                call = conversation.send(reply)
        except StopIteration as end:
            result: _ResultT = end.value
            return result

    def _delivered(self, call: Call, ends: float) -> Journey[httpx.Response]:
        last = _Try(words="the time of the call is over")
        longest_s = max(self._patience.timeout_s, LONGEST_PAUSE_S)
        asked, tries, told_s = 0, 0, 0.0
        while ends > self._clock():
            last = yield from self._try(call, ends, last.server)
            asked += 1
            # A full service that says when there will be room: a wait, and no failure.
            told = last.was_told_when and self._patience.retries > 0
            tries += not told
            again_at_once = asked < len(self.servers.all) and self._another(last)
            pause = 0.0 if again_at_once else self._pause(max(1, tries), last, ends - self._clock())
            told_s += pause if told else 0.0
            if (
                not last.worth_another
                or tries > self._patience.retries
                or self._clock() + pause >= ends
                or max(pause, told_s) > longest_s
            ):
                break
            yield Pause(pause)
        else:
            raise self._unreachable(last)
        if last.reply is None:
            raise self._unreachable(last) from last.error
        return last.reply

    def _try(self, call: Call, ends: float, avoid: Server | None) -> Journey[_Try]:
        try:
            with self.servers.taken(avoid) as server:
                return (yield from self._ask(server, call, ends))
        except Resting as rest:
            words = f"it has failed too often of late and is left alone for {rest.seconds:.1f} s"
            return _Try(words=words, worth_another=True, again_s=rest.seconds)

    def _ask(self, server: Server, call: Call, ends: float) -> Journey[_Try]:
        usual = self._patience.timeout_s if call.timeout_s is None else call.timeout_s
        # The process may have stood still since the last look at the clock: too late is a timeout, not an error.
        timeout = min(usual, max(LEAST_S, ends - self._clock()))
        try:
            reply = yield Sending(call, server.address.url_of(call.path), timeout)
        except (httpx.RequestError, httpx.InvalidURL) as error:
            # Too many calls of our own at once are no fault of the server.
            if not isinstance(error, httpx.PoolTimeout):
                self.servers.failed(server)
            words = str(error) or type(error).__name__
            several = len(self.servers.all) > 1 and isinstance(error, httpx.TimeoutException)
            return _Try(
                error=error, words=words, worth_another=several or isinstance(error, GONE), server=server
            )
        assert reply is not None
        again_s = retry_after(reply)
        self.servers.answered(server, reply.status_code, again_s)
        return _Try(
            reply=reply,
            worth_another=reply.status_code in PASSING_STATUSES,
            again_s=again_s,
            server=server,
        )

    def _another(self, last: _Try) -> bool:
        return last.server is not None and self.servers.another(last.server)

    def _pause(self, tries: int, last: _Try, left_s: float) -> float:
        """At random, so that those who were turned away together do not come back together."""
        again_s = None if self._another(last) else last.again_s
        longest = min(FIRST_PAUSE_S * 2.0 ** min(tries - 1, 10), LONGEST_PAUSE_S)
        # Towards the end shorter ones again, or the last seconds would be given away.
        usual = max(min(longest, left_s / 2), FIRST_PAUSE_S) * self._jitter(0.5, 1.0)
        return usual if again_s is None else max(usual, again_s * self._jitter(1.0, 1.25))

    def _unreachable(self, last: _Try) -> ServiceUnreachable:
        known = self.servers.all
        asked = known if last.server is None else (last.server,)
        url = ", ".join(server.address.shown for server in asked)
        words = last.words or (f"status {last.reply.status_code}" if last.reply is not None else "")
        return ServiceUnreachable(f"no reply from {url}: {words}")
