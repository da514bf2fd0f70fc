"""Sampling with vLLM servers over HTTP, as many as there are, and as long as one of them is up.

A server that is killed, hangs, or comes back with other weights is given up; what it was asked goes to the
others. It is taken back once it answers and has the weights of the policy again.
"""

import asyncio
import queue
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from grpo_trainer.background import Background
from grpo_trainer.config import TrainConfig
from grpo_trainer.ranks import ALONE, Ranks
from grpo_trainer.rollout.engine import Group, RolloutError, Sampling, Weights
from grpo_trainer.rollout.vllm_server import ServerLost, VllmServer
from grpo_trainer.rollout.weight_folder import WeightFolder

TRIES = 5
"""Times that a question is asked before the run gives up: it may be what brings the servers down."""
BEATS = 8
"""Looks at each server within rollout.silence_s."""
SLOWEST_BEAT_S = 5.0


class VllmServers:
    """Engine over vLLM servers. say: told when a server goes and when it is back.  ranks: the processes of the
    run; all of them draw, and the first hands out the weights.

    Raises RolloutError at once where a server is not there or was started for something else.
    """

    def __init__(
        self,
        config: TrainConfig,
        stop_ids: Sequence[int],
        folder: WeightFolder,
        ranks: Ranks = ALONE,
        say: Callable[[str], None] = print,
    ) -> None:
        self._settings = config.rollout
        self._stop_ids = list(stop_ids)
        self._folder = folder
        self._ranks = ranks
        self._say = say
        self._servers = [VllmServer(url, config.rollout) for url in config.rollout.servers]
        self._beat = min(config.rollout.silence_s / BEATS, SLOWEST_BEAT_S)
        self._at_once = config.sampling.batch
        self._version = 0
        self._path: Path | None = None
        self._lost = self._again = 0
        self._why = ""
        self._background = Background("rollouts")
        try:
            self._background.start(
                self._examine(config.data.max_prompt_tokens + config.sampling.longest)
            ).result()
        except BaseException:
            self.close()
            raise

    async def _examine(self, longest: int) -> None:
        try:
            await asyncio.gather(*(server.examine(longest) for server in self._servers))
        except ServerLost as error:
            raise RolloutError(f"{error}. A run starts with all of rollout.servers") from error

    def sync(self, weights: Weights, version: int) -> None:
        # The weights change for all processes at once, so all have to be done with drawing.
        self._ranks.wait()
        self._path = self._folder.write(weights, version)
        self._version = version
        if self._ranks.first:
            self._background.start(self._hand_out()).result()
        self._ranks.wait()

    async def _hand_out(self) -> None:
        await asyncio.gather(*(self._update(server) for server in self._servers if server.up))
        if not self._up:
            watching = [asyncio.create_task(self._watch(server)) for server in self._servers]
            try:
                await self._some_up()
            finally:
                await _called_off(watching)

    async def _update(self, server: VllmServer) -> None:
        """Brings a server up to date, or gives it up."""
        if self._path is None:
            raise RolloutError("nothing is drawn before the first sync")
        try:
            if self._ranks.first:
                await server.update(self._path, self._version)
            else:
                await server.expect(self._version)
        except (ServerLost, RolloutError) as error:
            self._lose(server, error)
        else:
            server.up = True

    def generate(
        self, prompts: Sequence[Sequence[int]], group_size: int, sampling: Sampling
    ) -> Iterator[Group]:
        found: queue.SimpleQueue[Group | BaseException] = queue.SimpleQueue()
        drawing = self._background.start(self._draw_all(prompts, group_size, sampling, found.put))
        try:
            for _ in prompts:
                group = found.get()
                if isinstance(group, BaseException):
                    raise group
                yield group
        finally:
            drawing.cancel()

    async def _draw_all(
        self,
        prompts: Sequence[Sequence[int]],
        group_size: int,
        sampling: Sampling,
        put: Callable[[Group | BaseException], None],
    ) -> None:
        """Puts every group, or the error that ends the round."""
        gate = asyncio.Semaphore(max(1, (self._at_once or len(prompts) * group_size) // group_size))

        async def one(place: int) -> None:
            async with gate:
                put(await self._draw(prompts[place], place, group_size, sampling))

        watching = [asyncio.create_task(self._watch(server)) for server in self._servers]
        drawing = [asyncio.create_task(one(place)) for place in range(len(prompts))]
        try:
            await asyncio.gather(*drawing)
        except BaseException as error:
            put(error)
            raise
        finally:
            await _called_off([*watching, *drawing])

    async def _draw(self, prompt: Sequence[int], place: int, group_size: int, sampling: Sampling) -> Group:
        """One question, asked of the server with the least to do, and of another if that one is lost."""
        why = ""
        for _ in range(TRIES):
            await self._some_up()
            server = min(self._up, key=lambda server: server.load)
            try:
                answers = await server.draw(
                    prompt, place, group_size, sampling, self._stop_ids, self._version
                )
                return Group(place, answers)
            except ServerLost as error:
                self._lose(server, error)
                self._again += 1
                why = str(error)
        raise RolloutError(
            f"question {place} of the round was lost {TRIES} times, the last time because {why}"
        )

    async def _watch(self, server: VllmServer) -> None:
        """Looks whether the server is alive, and takes it back when it is again."""
        while True:
            await asyncio.sleep(self._beat)
            try:
                await server.check()
            except ServerLost as error:
                self._lose(server, error)
                continue
            if not server.up:
                await self._update(server)
                if server.up:
                    self._say(f"{server.url} is back, with the weights of step {self._version}")

    @property
    def _up(self) -> list[VllmServer]:
        return [server for server in self._servers if server.up]

    async def _some_up(self) -> None:
        """Waits for a server. Raises RolloutError after rollout.outage_s."""
        limit = self._settings.outage_s
        waited = 0.0
        while not self._up:
            if waited >= limit:
                raise RolloutError(
                    f"no vLLM server for {limit:g} s (rollout.outage_s): {self._why}. Start them again, then go "
                    "on with --resume"
                )
            pause = min(self._beat, limit - waited)
            await asyncio.sleep(pause)
            waited += pause

    def _lose(self, server: VllmServer, error: Exception) -> None:
        self._why = str(error)
        if server.up:
            self._lost += 1
            left = len(self._up) - 1
            self._say(f"{error}. It is given up for now; {left} of {len(self._servers)} servers are left")
        server.lose(str(error))

    def rest(self) -> None:
        """The servers are on other accelerators: there is nothing to give back."""

    def numbers(self) -> dict[str, float]:
        return {
            "engine/servers": len(self._up),
            "engine/servers_lost": self._lost,
            "engine/questions_again": self._again,
        }

    def close(self) -> None:
        async def end() -> None:
            for server in self._servers:
                await server.close()

        self._background.close(end)
        self._folder.clear()


async def _called_off(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
