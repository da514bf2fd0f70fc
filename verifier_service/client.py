"""Client of the service, sync and async. Needs httpx and pydantic, nothing of the judge.

    with Client("http://127.0.0.1:8000") as judge:
        for result in judge.score([{"completion": r"\\boxed{5}", "gold": "5"}]).results:
            print(result.outcome, result.reward)

A result has one of three outcomes: right, wrong, or no verdict. The last is not a zero: its reward is None.
"""

import asyncio
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar
from weakref import WeakKeyDictionary

import httpx

from verifier_service.conversation import (
    Call,
    Conversation,
    Conversations,
    Items,
    ProfileArgument,
    RequestRefused,
    RulesArgument,
    ServiceError,
    ServiceUnreachable,
    UnexpectedReply,
    envelope_of,
)
from verifier_service.schema import GoldsResponse, Info, ScoreResponse

__all__ = [
    "AsyncClient",
    "Client",
    "RequestRefused",
    "ServiceError",
    "ServiceUnreachable",
    "UnexpectedReply",
]

URL_VARIABLE, KEY_VARIABLE = "VERIFIER_URL", "VERIFIER_API_KEY"
CONNECT_S = 5.0
# Shorter than the service keeps an idle connection, so that the two never meet over a dead one.
KEEPALIVE_S = 30.0

_ResultT = TypeVar("_ResultT")


def base_url(url: str | None) -> str:
    """The address of the service, from the argument or the environment, without a trailing /score."""
    found = (url if url is not None else os.environ.get(URL_VARIABLE, "")).strip()
    if not found:
        raise ValueError(f"no address of a service: give one, or set {URL_VARIABLE}=http://HOST:8000")
    if "://" not in found:
        found = f"http://{found}"
    return found.rstrip("/").removesuffix("/score").rstrip("/")


class _Core:
    """Everything but the sending."""

    def __init__(
        self,
        url: str | None,
        *,
        api_key: str | None,
        timeout_s: float,
        trust_env: bool,
        transport: Any,
    ) -> None:
        self.url = base_url(url)
        self._key = api_key if api_key is not None else os.environ.get(KEY_VARIABLE, "")
        self._timeout_s = timeout_s
        self._trust_env = trust_env
        self._transport = transport
        self._conversations = Conversations()

    def _options(self) -> dict[str, Any]:
        """Arguments for a session of httpx."""
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return {
            "base_url": self.url,
            "headers": headers,
            "timeout": httpx.Timeout(self._timeout_s, connect=min(CONNECT_S, self._timeout_s)),
            "trust_env": self._trust_env,
            "limits": httpx.Limits(
                max_connections=None, max_keepalive_connections=128, keepalive_expiry=KEEPALIVE_S
            ),
            "transport": self._transport,
        }

    def __getstate__(self) -> dict[str, Any]:
        """Without the connections: a copy in another process makes its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_sessions"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget_sessions()

    def _forget_sessions(self) -> None:
        raise NotImplementedError

    def _request(self, session: Any, call: Call) -> httpx.Request:
        headers = {} if call.content is None else {"Content-Type": "application/json"}
        if call.request_id is not None:
            headers["X-Request-Id"] = call.request_id
        timeout = self._timeout_s if call.timeout_s is None else call.timeout_s
        request: httpx.Request = session.build_request(
            call.method,
            call.path,
            content=call.content,
            headers=headers,
            timeout=httpx.Timeout(timeout, connect=min(CONNECT_S, timeout)),
        )
        return request

    def _unreachable(self, error: Exception) -> NoReturn:
        words = str(error) or type(error).__name__
        raise ServiceUnreachable(f"no reply from {self.url}: {words}") from error


class Client(_Core):
    """Synchronous client: safe in threads and after a fork, and picklable.

    url: base URL of the service, a trailing /score is accepted; else the variable VERIFIER_URL.
    api_key: else the variable VERIFIER_API_KEY; "" for none.  timeout_s: for a request without deadline.
    trust_env: take proxies from the environment, which a service in one's own cluster rarely wants.
    transport: of httpx, in place of the network.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        trust_env: bool = False,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(url, api_key=api_key, timeout_s=timeout_s, trust_env=trust_env, transport=transport)
        self._forget_sessions()

    def _forget_sessions(self) -> None:
        # By process: a child cannot share the connections of its parent.
        self._sessions: dict[int, httpx.Client] = {}

    def score(
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
        """One result per item, in their order. Items are mappings or `schema.Item`.

        Raises ServiceUnreachable or RequestRefused for the request as a whole; an item that could not be
        judged is a result without a verdict.
        """
        envelope = envelope_of(profile, rules, deadline_s, explain, echo_info)
        return self._hold(self._conversations.scoring(items, envelope, request_id))

    def check_golds(self, golds: Sequence[Any], *, request_id: str | None = None) -> GoldsResponse:
        """Which golds can be judged. Golds are bare, `schema.GoldQuery`, or mappings of that shape."""
        return self._hold(self._conversations.checking(golds, request_id))

    def info(self) -> Info:
        """Version, engine, limits and profiles of the service."""
        return self._hold(self._conversations.asking())

    def close(self) -> None:
        session = self._sessions.pop(os.getpid(), None)
        if session is not None:
            session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _hold(self, conversation: Conversation[_ResultT]) -> _ResultT:
        try:
            call = next(conversation)
            while True:
                call = conversation.send(self._send(call))
        except StopIteration as end:
            result: _ResultT = end.value
            return result

    def _send(self, call: Call) -> httpx.Response:
        """The one way out: retries and the choice of a server belong here."""
        session = self._sessions.get(os.getpid())
        if session is None:
            session = self._sessions.setdefault(os.getpid(), httpx.Client(**self._options()))
        try:
            return session.send(self._request(session, call))
        except (httpx.TransportError, httpx.InvalidURL) as error:
            self._unreachable(error)


_AsyncSessions = WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[int, httpx.AsyncClient]]


class AsyncClient(_Core):
    """The same for asyncio: one object may be used from several event loops."""

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        trust_env: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, api_key=api_key, timeout_s=timeout_s, trust_env=trust_env, transport=transport)
        self._forget_sessions()

    def _forget_sessions(self) -> None:
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
        try:
            call = next(conversation)
            while True:
                call = conversation.send(await self._send(call))
        except StopIteration as end:
            result: _ResultT = end.value
            return result

    async def _send(self, call: Call) -> httpx.Response:
        """As `Client._send`."""
        loop = asyncio.get_running_loop()
        process, session = self._sessions.get(loop, (0, None))
        if session is None or process != os.getpid():
            session = httpx.AsyncClient(**self._options())
            self._sessions[loop] = (os.getpid(), session)
        try:
            return await session.send(self._request(session, call))
        except (httpx.TransportError, httpx.InvalidURL) as error:
            self._unreachable(error)
