"""The client for asyncio."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import closing
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
)
from verifier_service.schema import GoldsResponse, Info, ScoreResponse

_ResultT = TypeVar("_ResultT")


_AsyncSessions = WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[int, httpx.AsyncClient]]


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
        # By event loop, together with the process: connections belong to both.
        self._sessions: _AsyncSessions = WeakKeyDictionary()

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
        return await self._hold(self._conversations.scoring(items, envelope, request_id))

    async def check_golds(self, golds: Sequence[Any], *, request_id: str | None = None) -> GoldsResponse:
        """As `Client.check_golds`."""
        return await self._hold(self._conversations.checking(golds, request_id))

    async def info(self) -> Info:
        """As `Client.info`."""
        return await self._hold(self._conversations.asking())

    async def aclose(self) -> None:
        process, session = self._sessions.pop(asyncio.get_running_loop(), (0, None))
        if session is not None and process == os.getpid():
            await session.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _hold(self, conversation: Conversation[_ResultT]) -> _ResultT:
        with closing(self._courier().carry(conversation)) as journey:
            try:
                step = next(journey)
                while True:
                    try:
                        reply = await self._do(step)
                    except (httpx.TransportError, httpx.InvalidURL) as error:
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
        session = self._session()
        return await session.send(self._request(session, step))

    def _session(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        process, session = self._sessions.get(loop, (0, None))
        if session is None or process != os.getpid():
            session = httpx.AsyncClient(**self._options())
            self._sessions[loop] = (os.getpid(), session)
        return session
