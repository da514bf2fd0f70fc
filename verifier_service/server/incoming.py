"""One request that wants work done: let in, read, admitted with its items, and dropped if its sender is."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from verifier_service.schema import ScoreResponse
from verifier_service.server.admission import Admission, Ticket
from verifier_service.server.auth import holder_of
from verifier_service.server.body import declared_size, read_body
from verifier_service.server.problems import ProblemError
from verifier_service.server.service import Service, check_started, service_of
from verifier_service.server.tracking import add_to_reply

ResultT = TypeVar("ResultT")

PAUSES_S = (0.05, 0.25)


class Patience:
    """Waits for room where others are told to come again, until its time is over."""

    def __init__(self, admission: Admission, seconds: float) -> None:
        self._admission = admission
        self._ends = time.monotonic() + seconds

    async def wait(self, ask: Callable[[], ResultT]) -> ResultT:
        """What it says once there is room. Raises ProblemError (503)."""
        while True:
            try:
                return ask()
            except ProblemError as problem:
                if problem.name != "overloaded" or time.monotonic() >= self._ends:
                    raise
            self._admission.stats.overloaded -= 1  # it has not been turned away
            await asyncio.sleep(random.uniform(*PAUSES_S))


class Incoming:
    """Made by `incoming`. In order: `body`, then `admit`, then `judged`, then `scored`."""

    def __init__(self, request: Request, service: Service, ticket: Ticket, patience: Patience) -> None:
        self.service = service
        self._request = request
        self._ticket = ticket
        self._patience = patience
        self._hung_up = False

    async def body(self) -> bytes:
        """All of the body, at a moment to decode it. Raises ProblemError where it is too large, too slow or no JSON."""
        settings = self.service.settings
        content = await read_body(
            self._request, settings.max_body_bytes, within_s=settings.receive_s, received=self._ticket.receive
        )
        await self.service.turnstile.pass_through(len(content))
        await self._patience.wait(self._ticket.check)
        return content

    async def admit(self, items: int) -> None:
        """Raises ProblemError where there is no room for these items now, or the key has used up its quota."""
        await self._patience.wait(partial(self._ticket.admit, items))
        holder = holder_of(self._request.scope)
        fields = await self.service.limiter.charge(holder, items=items, size=self._ticket.size)
        add_to_reply(self._request.scope, fields)

    async def judged(self, work: Awaitable[ResultT]) -> ResultT:
        """What comes of the work, which is cancelled where the sender hangs up: nobody waits for it."""
        me = asyncio.current_task()
        assert me is not None
        watcher = asyncio.create_task(self._cancel_when_gone(me))
        try:
            return await work
        except asyncio.CancelledError:
            if self._hung_up and me.uncancel() == 0:
                self.service.metrics.request_abandoned()
                raise ClientDisconnect from None
            raise
        finally:
            watcher.cancel()

    def scored(self, response: ScoreResponse) -> None:
        """Counts what came of it, for metrics and for the request's span."""
        self.service.metrics.batch_scored(response)
        self._request.scope["state"]["scored"] = response

    async def _cancel_when_gone(self, task: "asyncio.Task[Any]") -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self._hung_up = True
        task.cancel()


@asynccontextmanager
async def incoming(request: Request, *, patience_s: float = 0.0) -> AsyncIterator[Incoming]:
    """Lets a request in and counts what it takes up until it leaves. Raises ProblemError (503, 429).

    patience_s: for a sender that takes being turned away for the end; it waits for room as long as that.
    """
    service = service_of(request)
    check_started(service)
    service.limiter.check(holder_of(request.scope))
    patience = Patience(service.admission, patience_s)
    most = service.settings.max_body_bytes
    # A body can be read only once: of who waits it must not be refused when half of it is there.
    reserved = min(most, declared_size(request) or most) if patience_s else 0
    with await patience.wait(partial(service.admission.enter, reserved)) as ticket:
        yield Incoming(request, service, ticket, patience)
