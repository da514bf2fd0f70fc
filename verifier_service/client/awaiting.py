"""The client for asyncio."""

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import closing
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

import httpx

from verifier_service.client.core import Core
from verifier_service.client.courier import Pause, Step
from verifier_service.conversation import (
    Conversation,
    Items,
    ProfileArgument,
    RulesArgument,
    envelope_of,
    joined,
    judged_alike,
)
from verifier_service.schema import GoldsResponse, Info, ScoreResponse

_ResultT = TypeVar("_ResultT")


# By event loop and process: connections belong to both.
_Kept = tuple[httpx.AsyncClient, AsyncGenerator[None, None]]
_Sessions = WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, _Kept]]


class AsyncClient(Core):
    """The same for asyncio: one object may be used from several event loops."""

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        retries: int = 3,
        total_s: float | None = None,
        trust_env: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(
            url,
            api_key=api_key,
            timeout_s=timeout_s,
            retries=retries,
            total_s=total_s,
            trust_env=trust_env,
            transport=transport,
        )

    def _forget_process(self) -> None:
        super()._forget_process()
        self._sessions: _Sessions = WeakKeyDictionary()

    async def score(
        self,
        items: Items,
        *,
        profile: ProfileArgument = None,
        rules: RulesArgument = None,
        deadline_s: float | None = None,
        explain: bool = False,
        echo_info: bool = False,
        request_id: str | None = None,
    ) -> ScoreResponse:
        """As `Client.score`."""
        envelope = envelope_of(profile, rules, deadline_s, explain, echo_info)
        ends = self._courier().end()
        talk = partial(self._conversations.scoring, items, envelope, request_id)
        parts = await self._hold_all(talk(len(self.addresses)), ends)
        if not judged_alike(parts):
            # Servers of two versions, as while one after the other is renewed: then one of them judges all.
            parts = await self._hold_all(talk(1), ends)
        return joined(parts)

    async def check_golds(self, golds: Sequence[Any], *, request_id: str | None = None) -> GoldsResponse:
        """As `Client.check_golds`."""
        return await self._hold(self._conversations.checking(golds, request_id), self._courier().end())

    async def info(self) -> Info:
        """As `Client.info`."""
        return await self._hold(self._conversations.asking(), self._courier().end())

    async def aclose(self) -> None:
        kept = self._sessions.get(asyncio.get_running_loop(), {}).get(os.getpid())
        if kept is not None:
            await kept[1].aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _hold_all(self, conversations: list[Conversation[_ResultT]], ends: float) -> list[_ResultT]:
        if len(conversations) == 1:
            return [await self._hold(conversations[0], ends)]
        turns = asyncio.Semaphore(self._parts_at_once)

        async def hold(conversation: Conversation[_ResultT]) -> _ResultT:
            async with turns:
                return await self._hold(conversation, ends)

        tasks = [asyncio.ensure_future(hold(one)) for one in conversations]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _hold(self, conversation: Conversation[_ResultT], ends: float) -> _ResultT:
        with closing(self._courier().carry(conversation, ends)) as journey:
            try:
                step = next(journey)
                while True:
                    try:
                        reply = await self._do(step)
                    except (httpx.RequestError, httpx.InvalidURL) as error:
                        step = journey.throw(error)
                    else:
                        step = journey.send(reply)
            except StopIteration as end:
                result: _ResultT = end.value
                return result

    async def _do(self, step: Step) -> httpx.Response | None:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        session = await self._session()
        request = self._request(session, step)
        try:
            # Of the whole exchange: a timeout of httpx counts for each read anew.
            async with asyncio.timeout(step.timeout_s):
                return await session.send(request)
        except TimeoutError:
            raise httpx.ReadTimeout(f"not done within {step.timeout_s:.1f} s", request=request) from None

    async def _session(self) -> httpx.AsyncClient:
        here = self._sessions.setdefault(asyncio.get_running_loop(), {})
        kept = here.get(os.getpid())
        if kept is not None:
            return kept[0]
        session = httpx.AsyncClient(**self._options())
        keeper = _open_until_the_loop_ends(session, here)
        here[os.getpid()] = (session, keeper)
        await anext(keeper)
        return session


async def _open_until_the_loop_ends(
    session: httpx.AsyncClient, here: dict[int, _Kept]
) -> AsyncGenerator[None, None]:
    """Closes the session with its loop: `asyncio.run` ends the generators that are left, connections it does not."""
    try:
        yield
    finally:
        here.pop(os.getpid(), None)
        await session.aclose()
