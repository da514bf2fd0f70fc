"""Every adapter called as its trainer calls it, on any samples: the replies as plain rewards, in order."""

import asyncio
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from verifier_service.adapters import (
    for_areal,
    for_easyr1,
    for_ms_swift,
    for_nemo_rl,
    for_open_instruct,
    for_openrlhf,
    for_rllm,
    for_slime,
    for_tinker_cookbook,
    for_torchforge,
    for_torchtune,
    for_trl,
    for_verifiers,
    for_verl,
)


@dataclass(frozen=True)
class Sample:
    prompt: str
    completion: str
    gold: str


Rewards = list[float | None]
Call = Callable[[Sequence[Sample]], Rewards]


def trl(samples: Sequence[Sample]) -> Rewards:
    function = for_trl.reward_function(max_error_rate=1)
    return function(
        prompts=[[{"role": "user", "content": one.prompt}] for one in samples],
        completions=[[{"role": "assistant", "content": one.completion}] for one in samples],
        completion_ids=[[1, 2]] * len(samples),
        ground_truth=[one.gold for one in samples],
        trainer_state=object(),
        log_extra=lambda column, values: None,
        log_metric=lambda name, value: None,
    )


def trl_awaited(samples: Sequence[Sample]) -> Rewards:
    function = for_trl.async_reward_function(max_error_rate=1)
    prompts, completions = [one.prompt for one in samples], [one.completion for one in samples]
    return asyncio.run(
        function(prompts=prompts, completions=completions, solution=[one.gold for one in samples])
    )


def trl_in_parts(samples: Sequence[Sample]) -> Rewards:
    functions = for_trl.reward_functions(names=["accuracy"], max_error_rate=1)
    prompts, completions = [one.prompt for one in samples], [one.completion for one in samples]
    parts = [
        function(prompts=prompts, completions=completions, answer=[one.gold for one in samples])
        for function in functions
    ]
    return parts[0]


def verl(samples: Sequence[Sample]) -> Rewards:
    async def ask() -> list[dict[str, float]]:
        return await asyncio.gather(
            *(
                for_verl.compute_score(
                    data_source="rates/train",
                    solution_str=one.completion,
                    ground_truth=one.gold,
                    extra_info={"question": one.prompt},
                    max_error_rate=1,
                )
                for one in samples
            )
        )

    return [reply["score"] for reply in asyncio.run(ask())]


def verl_batch(samples: Sequence[Sample]) -> Rewards:
    replies = for_verl.compute_score_batch(
        data_sources=["rates/train"] * len(samples),
        solution_strs=[one.completion for one in samples],
        ground_truths=[one.gold for one in samples],
        extra_infos=[{"index": 3}] * len(samples),
        max_error_rate=1,
    )
    return [reply["score"] for reply in replies]


def openrlhf(samples: Sequence[Sample]) -> Rewards:
    prompts = [f"<|im_start|>user\n{one.prompt}<|im_end|>\n<|im_start|>assistant\n" for one in samples]
    queries = [f"{prompt}{one.completion}<|im_end|>" for prompt, one in zip(prompts, samples, strict=True)]
    rewards: Rewards = for_openrlhf.reward_func(queries, prompts, [one.gold for one in samples])["rewards"]
    return rewards


def _slime_sample(one: Sample) -> SimpleNamespace:
    return SimpleNamespace(prompt=one.prompt, response=one.completion, label=one.gold, metadata={})


def slime(samples: Sequence[Sample]) -> Rewards:
    async def ask() -> list[Any]:
        args = SimpleNamespace(reward_key=None)
        return await asyncio.gather(*(for_slime.rm(args, _slime_sample(one)) for one in samples))

    return asyncio.run(ask())


def slime_group(samples: Sequence[Sample]) -> Rewards:
    reply = asyncio.run(
        for_slime.rm(SimpleNamespace(reward_key="score"), [_slime_sample(one) for one in samples])
    )
    assert isinstance(reply, list)
    return [one["score"] for one in reply]  # type: ignore[index,misc]


def ms_swift(samples: Sequence[Sample]) -> Rewards:
    messages = [
        [{"role": "user", "content": one.prompt}, {"role": "assistant", "content": one.completion}]
        for one in samples
    ]
    return for_ms_swift.RewardORM(args=object())(
        [one.completion for one in samples],
        solution=[one.gold for one in samples],
        messages=messages,
        trainer_state=object(),
    )


def easyr1(samples: Sequence[Sample]) -> Rewards:
    inputs = [{"response": one.completion, "response_length": 2, "ground_truth": one.gold} for one in samples]
    return [reply["overall"] for reply in for_easyr1.score(inputs, max_error_rate=1)]


def areal(samples: Sequence[Sample]) -> Rewards:
    function = for_areal.RewardFunction(max_error_rate=1)
    return [function(one.prompt, one.completion, [1], [2], answer=one.gold) for one in samples]


class Trace:
    def __init__(self, last_reply: str) -> None:
        self.last_reply = last_reply
        self.metrics: dict[str, float] = {}

    def record_metric(self, name: str, value: float) -> None:
        self.metrics[name] = value


def verifiers(samples: Sequence[Sample]) -> Rewards:
    async def ask() -> list[float]:
        rows = [SimpleNamespace(prompt=one.prompt, answer=one.gold) for one in samples]
        return await asyncio.gather(
            *(
                for_verifiers.remote_reward(task=row, trace=Trace(one.completion))
                for row, one in zip(rows, samples, strict=True)
            )
        )

    return list(asyncio.run(ask()))


def verifiers_legacy(samples: Sequence[Sample]) -> Rewards:
    async def ask() -> list[float]:
        return await asyncio.gather(
            *(
                for_verifiers.legacy_reward(
                    prompt=[{"role": "user", "content": one.prompt}],
                    completion=[{"role": "assistant", "content": one.completion}],
                    answer=one.gold,
                    state={},
                    info={},
                )
                for one in samples
            )
        )

    return list(asyncio.run(ask()))


def skyrl(samples: Sequence[Sample]) -> Rewards:
    from skyrl_gym import make
    from skyrl_gym.envs.registration import register, registry

    if "verifier" not in registry:
        register(id="verifier", entry_point="verifier_service.adapters.for_skyrl:RemoteEnv")
    rewards: Rewards = []
    for one in samples:
        extras = {"reward_spec": {"method": "rule", "ground_truth": one.gold}, "max_turns": 1}
        env = make("verifier", env_config={}, extras=extras)
        env.init([{"role": "user", "content": one.prompt}])
        reply = env.step(one.completion)
        assert (reply["done"], reply["observations"]) == (True, [])
        rewards.append(reply["reward"])
    return rewards


class _Torch(types.ModuleType):
    """As much of torch as the adapters use: lists stay lists."""

    tensor = staticmethod(list)
    ones = staticmethod(lambda count: [1.0] * count)


def _stub(name: str, **members: Any) -> None:
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


def nemo_rl(samples: Sequence[Sample]) -> Rewards:
    _stub("nemo_rl.environments.interfaces", EnvironmentReturn=SimpleNamespace)
    logs = [
        [{"role": "user", "content": one.prompt}, {"role": "assistant", "content": one.completion}]
        for one in samples
    ]
    reply = for_nemo_rl.RemoteEnvironment({"max_error_rate": 1}).step(
        logs, [{"ground_truth": one.gold} for one in samples]
    )
    return list(map(float, reply.rewards))


def rllm(samples: Sequence[Sample]) -> Rewards:
    rewards: Rewards = []
    for one in samples:
        step = SimpleNamespace(model_response=one.completion)
        episode = SimpleNamespace(trajectories=[SimpleNamespace(steps=[step])])
        reward, right = for_rllm.evaluate({"question": one.prompt, "answer": one.gold}, episode)
        assert right == (reward == 1.0)
        rewards.append(reward)
    return rewards


def rllm_legacy(samples: Sequence[Sample]) -> Rewards:
    return [
        for_rllm.legacy_reward({"problem": one.prompt, "ground_truth": one.gold}, one.completion).reward
        for one in samples
    ]


class _VerifierFunction:
    def __init__(self, name: str, weight: float = 1.0, verifier_config: Any = None) -> None:
        self.name, self.weight = name, weight


def open_instruct(samples: Sequence[Sample]) -> Rewards:
    _stub(for_open_instruct.MODULE, VerifierFunction=_VerifierFunction, VerificationResult=SimpleNamespace)
    verifier = for_open_instruct.register("verifier")()
    assert verifier.name == "verifier"

    async def ask() -> list[Any]:
        calls = (verifier.async_call([1], one.completion, one.gold, query=one.prompt) for one in samples)
        return await asyncio.gather(*calls)

    return [reply.score for reply in asyncio.run(ask())]


def tinker_cookbook(samples: Sequence[Sample]) -> Rewards:
    async def ask() -> list[tuple[float, dict[str, float]]]:
        calls = (for_tinker_cookbook.grade(one.completion, one.gold, one.prompt) for one in samples)
        return await asyncio.gather(*calls)

    return [reward for reward, _ in asyncio.run(ask())]


def torchforge(samples: Sequence[Sample]) -> Rewards:
    reward = for_torchforge.Reward(max_error_rate=1)
    return [reward(one.prompt, one.completion, one.gold) for one in samples]


def torchtune(samples: Sequence[Sample]) -> Rewards:
    _stub("torchtune.dev.rl.rewards", RewardOutput=SimpleNamespace)
    reply = for_torchtune.Reward(max_error_rate=1)(
        None, [one.completion for one in samples], [one.gold for one in samples]
    )
    return list(map(float, reply.total_reward))


# What each trainer is told where there is no verdict.
RULES: dict[Call, float | str | None] = {
    trl: None,
    trl_awaited: None,
    trl_in_parts: None,
    verl: 0.0,
    verl_batch: 0.0,
    openrlhf: 0.0,
    slime: "raise",
    slime_group: "raise",
    ms_swift: None,
    easyr1: 0.0,
    areal: 0.0,
    verifiers: "raise",
    verifiers_legacy: 0.0,
    skyrl: 0.0,
    nemo_rl: "raise",
    rllm: "raise",
    rllm_legacy: "raise",
    open_instruct: "raise",
    tinker_cookbook: "raise",
    torchforge: "raise",
    torchtune: "raise",
}
NEEDS = {skyrl: "skyrl_gym", nemo_rl: "torch", torchtune: "torch"}
