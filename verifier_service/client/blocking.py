"""The client that waits."""

import os
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from verifier_service.client.clocked import clocked
from verifier_service.client.core import Core
from verifier_service.client.courier import Pause, Step
from verifier_service.client.threads import in_threads
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


class Client(Core):
    """Synchronous client: safe in threads and after a fork, and picklable.

    url: base URL of the service, a trailing /score is accepted, and with it ?profile=NAME; several are
    separated by commas, and share the work as their health allows; else the variable VERIFIER_URL.
    api_key: else the variable VERIFIER_API_KEY; "" for none.  timeout_s: for a request without deadline.
    retries: tries beyond the first where nobody answers or the service is full (429, 503), with growing
    pauses. Pauses that a full service asks for do not count, up to timeout_s in all.  total_s: how long one
    call may take, all of this included.
    trust_env: take proxies from the environment, which a service in one's own cluster rarely wants.
    transport: of httpx, in place of the network.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        retries: int = 3,
        total_s: float | None = None,
        trust_env: bool = False,
        transport: httpx.BaseTransport | None = None,
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
        ends = self._courier().end()
        talk = partial(self._conversations.scoring, items, envelope, request_id)
        parts = self._hold_all(talk(len(self.addresses)), ends)
        if not judged_alike(parts):
            # Servers of two versions, as while one after the other is renewed: then one of them judges all.
            parts = self._hold_all(talk(1), ends)
        return joined(parts)

    def check_golds(self, golds: Sequence[Any], *, request_id: str | None = None) -> GoldsResponse:
        """Which golds can be judged. Golds are bare, `schema.GoldQuery`, or mappings of that shape."""
        return self._hold(self._conversations.checking(golds, request_id), self._courier().end())

    def info(self) -> Info:
        """Version, engine, limits and profiles of the service."""
        return self._hold(self._conversations.asking(), self._courier().end())

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

    def _hold_all(self, conversations: list[Conversation[_ResultT]], ends: float) -> list[_ResultT]:
        if len(conversations) == 1:
            return [self._hold(conversations[0], ends)]
        return in_threads([partial(self._hold, one, ends) for one in conversations], self._parts_at_once)

    def _hold(self, conversation: Conversation[_ResultT], ends: float) -> _ResultT:
        with closing(self._courier().carry(conversation, ends)) as journey:
            try:
                step = next(journey)
                while True:
                    try:
                        reply = self._do(step)
                    except (httpx.RequestError, httpx.InvalidURL) as error:
                        step = journey.throw(error)
                    else:
                        step = journey.send(reply)
            except StopIteration as end:
                result: _ResultT = end.value
                return result

    def _do(self, step: Step) -> httpx.Response | None:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        session = self._session()
        return session.send(self._request(session, step))

    def _session(self) -> httpx.Client:
        session = self._sessions.get(os.getpid())
        if session is None:
            session = self._sessions.setdefault(os.getpid(), clocked(httpx.Client(**self._options())))
        return session
