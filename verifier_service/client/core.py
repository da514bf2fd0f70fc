"""What both clients are made of, but for the sending."""

import os
import ssl
import time
from functools import cache
from typing import Any, TypeVar

import httpx

from verifier_service.client.addresses import KEY_VARIABLE, addresses
from verifier_service.client.courier import Courier, Patience, Sending
from verifier_service.client.servers import Servers
from verifier_service.conversation import Conversations, fits_a_header

CONNECT_S = 5.0
# Shorter than the service keeps an idle connection, so that the two never meet over a dead one.
KEEPALIVE_S = 30.0
# Single calls of many rollouts at once; beyond it they wait for one another, not for file descriptors.
MOST_CONNECTIONS, IDLE_CONNECTIONS = 512, 128
# Of the time of a request, what may pass before there is a connection for it.
SHARE_BEFORE = 0.9
# Parts of one batch under way at the same time, at each server: one is judged while the next is sent.
PARTS_AT_ONCE = 2

SessionT = TypeVar("SessionT", httpx.Client, httpx.AsyncClient)


class Core:
    """Everything but the sending."""

    def __init__(
        self,
        url: str | None,
        *,
        api_key: str | None,
        timeout_s: float,
        retries: int,
        total_s: float | None,
        trust_env: bool,
        transport: Any,
    ) -> None:
        self.addresses = addresses(url)
        # For messages: a password that an address holds is not in it.
        self.url = ",".join(address.shown for address in self.addresses)
        self.patience = Patience(timeout_s, retries, total_s)
        # Keys are often read from files, and end with a line break then, which no header takes.
        self._key = (api_key if api_key is not None else os.environ.get(KEY_VARIABLE, "")).strip()
        if not fits_a_header(self._key):
            raise ValueError(
                f"the key ({KEY_VARIABLE}) holds marks that no header takes: it is ASCII, on one line"
            )
        self._trust_env = trust_env
        self._transport = transport
        self._conversations = Conversations()
        self._forget_process()

    def _options(self) -> dict[str, Any]:
        """Arguments for a session of httpx."""
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return {
            "headers": headers,
            "trust_env": self._trust_env,
            "limits": httpx.Limits(
                max_connections=MOST_CONNECTIONS,
                max_keepalive_connections=IDLE_CONNECTIONS,
                keepalive_expiry=KEEPALIVE_S,
            ),
            "transport": self._transport,
            "verify": _trust(any(one.base.startswith("https:") for one in self.addresses), self._trust_env),
        }

    def __getstate__(self) -> dict[str, Any]:
        """Without the connections: a copy in another process makes its own."""
        return {
            name: value for name, value in self.__dict__.items() if name not in ("_sessions", "_couriers")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget_process()

    @property
    def _parts_at_once(self) -> int:
        return PARTS_AT_ONCE * len(self.addresses)

    def _forget_process(self) -> None:
        # By process: a child that was forked has no part in the calls, and the locks, of its parent.
        self._couriers: dict[int, Courier] = {}

    def _courier(self) -> Courier:
        courier = self._couriers.get(os.getpid())
        if courier is None:
            servers = Servers(self.addresses, time.monotonic)
            made = Courier(servers, self.patience, clock=time.monotonic)
            courier = self._couriers.setdefault(os.getpid(), made)
        return courier

    def _request(self, session: SessionT, step: Sending) -> httpx.Request:
        call = step.call
        headers = {} if call.content is None else {"Content-Type": "application/json"}
        if call.request_id is not None:
            headers["X-Request-Id"] = call.request_id
        return session.build_request(
            call.method,
            step.url,
            content=call.content,
            headers=headers,
            timeout=httpx.Timeout(
                step.timeout_s,
                # Sooner than all of it is over, so that they are told from a server that does not reply.
                connect=min(CONNECT_S, SHARE_BEFORE * step.timeout_s),
                pool=SHARE_BEFORE * step.timeout_s,
            ),
        )


@cache
def _trust(https: bool, trust_env: bool) -> ssl.SSLContext:
    """Read once a process: certificates take longer than many requests, and each event loop has its session.

    Where nothing but plain HTTP is spoken there are none: such a context trusts nobody.
    """
    if https or trust_env:
        return httpx.create_ssl_context(trust_env=trust_env)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
