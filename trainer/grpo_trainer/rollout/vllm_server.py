"""One vLLM server over HTTP: token ids in and out, weights by a folder, and a deadline on everything.

The server is vLLM's own (`python -m vllm.entrypoints.openai.api_server`), with its routes for tokens and for
training switched on; `grpo plan` prints how (grpo_trainer.serving).
"""

import asyncio
import os
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx

from grpo_trainer.config import RolloutConfig
from grpo_trainer.rollout.engine import Answer, RolloutError, Sampling
from grpo_trainer.rollout.vllm_answers import BadAnswer, checked_answer, sampling_params

T = TypeVar("T")
KEY = "VLLM_API_KEY"
SHOWN = 500


class ServerLost(RuntimeError):
    """The server is of no use until it has been brought up to date again; the message says why."""


class VllmServer:
    """A server, and whether it is up: it answers, and holds the weights that it should."""

    def __init__(self, url: str, settings: RolloutConfig) -> None:
        self.url = url.rstrip("/")
        self.up = True
        self._settings = settings
        self._running: set[asyncio.Task[Any]] = set()
        self._lost_because = ""
        key = os.environ.get(KEY)
        self._client = httpx.AsyncClient(
            base_url=self.url,
            headers={"Authorization": f"Bearer {key}"} if key else None,
            limits=httpx.Limits(max_connections=None),
            timeout=None,  # `_ask` bounds the whole request, not the pauses in it
            trust_env=False,
        )

    @property
    def load(self) -> int:
        """Questions that it is answering."""
        return len(self._running)

    def lose(self, why: str) -> None:
        """Gives the server up, and with it what it was asked."""
        self.up = False
        self._lost_because = why
        for task in self._running:
            task.cancel()

    async def close(self) -> None:
        await self._client.aclose()

    async def check(self) -> None:
        """Raises ServerLost if it gives no sign of life in time."""
        await self._ask("GET", "/health", self._settings.silence_s)

    async def examine(self, longest: int) -> None:
        """Raises RolloutError if the server was started in a way that training can't use.

        longest: tokens of a prompt and its answer.
        """
        await self.check()
        await self._ask("GET", "/weight_info", self._settings.silence_s)
        models = await self._ask("GET", "/v1/models", self._settings.silence_s)
        with self._understood():
            limit = models.json()["data"][0]["max_model_len"]
            short = limit is not None and limit < longest
        if short:
            raise RolloutError(
                f"{self.url} takes {limit} tokens, and data.max_prompt_tokens + sampling.max_tokens is "
                f"{longest}: start it with --max-model-len {longest}"
            )

    async def update(self, path: Path, version: int) -> None:
        """New weights, none of what the old ones computed, and their version, while nothing is drawn."""
        quick, limit = self._settings.silence_s, self._settings.sync_timeout_s
        await self._ask("POST", "/pause?mode=abort", quick)
        body = {"method": "reload_weights", "kwargs": {"weights_path": str(path)}, "timeout": limit}
        try:
            await self._ask("POST", "/collective_rpc", limit, body)
        except ServerLost as error:
            raise ServerLost(f"{error}. Does it see {path} under this very path?") from error
        reset = await self._ask("POST", "/reset_prefix_cache", quick)
        with self._understood():
            emptied = reset.json()["success"]
        if not emptied:
            raise ServerLost(f"{self.url} did not empty its prefix cache")
        await self._ask("POST", "/update_weight_version", quick, {"new_version": str(version)})
        await self._ask("POST", "/resume", quick)

    async def expect(self, version: int) -> None:
        """Raises ServerLost while it does not hold these weights, which another process gives it."""
        reply = await self._ask("GET", "/weight_info", self._settings.silence_s)
        with self._understood():
            found = reply.json()["weight_version"]
        if found != str(version):
            raise ServerLost(f"{self.url} holds weights {found}, and the policy is at version {version}")

    async def draw(
        self,
        prompt: Sequence[int],
        place: int,
        group_size: int,
        sampling: Sampling,
        stop_ids: Sequence[int],
        version: int,
    ) -> tuple[Answer, ...]:
        """All answers to a question. Raises ServerLost, also if the server is given up in the meantime."""
        body = {
            "token_ids": list(prompt),
            "sampling_params": sampling_params(sampling, place, group_size, stop_ids),
        }
        reply = await self._while_up(
            self._ask("POST", "/inference/v1/generate", self._settings.timeout_s, body)
        )
        with self._understood():
            choices = sorted(reply.json()["choices"], key=lambda choice: int(choice["index"]))
            answers = tuple(_answer(choice, version) for choice in choices)
        if len(answers) != group_size:
            raise ServerLost(f"{self.url} gave {len(answers)} answers of {group_size}")
        return answers

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """What a reply is read in. Raises ServerLost if it is not what vLLM would say."""
        try:
            yield
        except BadAnswer as error:
            raise ServerLost(f"an answer of {self.url} cannot be trained on: {error}") from error
        except (LookupError, TypeError, ValueError) as error:
            raise ServerLost(f"{self.url} does not answer as vLLM 0.32 does: {error!r}") from error

    async def _while_up(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(work)
        self._running.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            ours = asyncio.current_task()
            if self.up or (ours is not None and ours.cancelling()):
                raise
            raise ServerLost(self._lost_because) from None
        finally:
            self._running.discard(task)

    async def _ask(
        self, method: str, path: str, seconds: float, body: Mapping[str, Any] | None = None
    ) -> httpx.Response:
        route = path.partition("?")[0]
        try:
            async with asyncio.timeout(seconds):
                reply = await self._client.request(method, path, json=body)
        except TimeoutError:
            raise ServerLost(f"{self.url}{route} did not answer within {seconds:g} s") from None
        except httpx.TransportError as error:
            raise ServerLost(f"{self.url}{route}: {error or type(error).__name__}") from error
        if reply.status_code == httpx.codes.NOT_FOUND:
            raise RolloutError(
                f"{self.url} has no {route}: start it with VLLM_SERVER_DEV_MODE=1 and --enable-scale-out "
                "(`grpo plan` prints the command)"
            )
        if reply.is_server_error:
            raise ServerLost(f"{self.url}{route}: {reply.status_code} {reply.text[:SHOWN]}")
        if reply.is_error:
            raise RolloutError(f"{self.url}{route} refuses: {reply.status_code} {reply.text[:SHOWN]}")
        return reply


def _answer(choice: Mapping[str, Any], version: int) -> Answer:
    content = choice["logprobs"]["content"]
    return checked_answer(
        choice["token_ids"],
        [entry["logprob"] for entry in content],
        choice["finish_reason"],
        (span["version"] for span in choice["weight_versions"] or ()),
        version,
    )
