"""Client of the service, sync and async. Needs httpx and pydantic, nothing of the judge.

    with Client("http://127.0.0.1:8000") as judge:
        for result in judge.score([{"completion": r"\\boxed{5}", "gold": "5"}]).results:
            print(result.outcome, result.reward)

A result has one of three outcomes: right, wrong, or no verdict. The last is not a zero: its reward is None.
"""

from verifier_service.client.addresses import base_url
from verifier_service.client.awaiting import AsyncClient
from verifier_service.client.blocking import Client
from verifier_service.conversation import (
    RequestRefused,
    ServiceError,
    ServiceUnreachable,
    UnexpectedReply,
)

__all__ = [
    "AsyncClient",
    "Client",
    "RequestRefused",
    "ServiceError",
    "ServiceUnreachable",
    "UnexpectedReply",
    "base_url",
]
