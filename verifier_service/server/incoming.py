"""One request that wants work done: let in, read, admitted with its items, and dropped if its sender is."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from verifier_service.schema import ScoreResponse
from verifier_service.server.admission import Ticket
from verifier_service.server.auth import holder_of
from verifier_service.server.body import read_body
from verifier_service.server.service import Service, check_started, service_of
from verifier_service.server.tracking import add_to_reply

ResultT = TypeVar("ResultT")


class Incoming:
    """Made by `incoming`. In order: `body`, then `admit`, then `judged`, then `scored`."""

    def __init__(self, request: Request, service: Service, ticket: Ticket) -> None:
        self.service = service
        self._request = request
        self._ticket = ticket
        self._hung_up = False

    async def body(self) -> bytes:
        """All of the body, at a moment to decode it. Raises ProblemError where it is too large, too slow or no JSON."""
        settings = self.service.settings
        content = await read_body(
            self._request, settings.max_body_bytes, within_s=settings.receive_s, received=self._ticket.receive
        )
        await self.service.turnstile.pass_through(len(content))
        self._ticket.check()
        return content

    async def admit(self, items: int) -> None:
        """Raises ProblemError where there is no room for these items now, or the key has used up its quota."""
        self._ticket.admit(items)
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
async def incoming(request: Request) -> AsyncIterator[Incoming]:
    """Lets a request in and counts what it takes up until it leaves. Raises ProblemError (503, 429)."""
    service = service_of(request)
    check_started(service)
    service.limiter.check(holder_of(request.scope))
    with service.admission.enter() as ticket:
        yield Incoming(request, service, ticket)
