"""The one module of a trainer that asks for rewards, taken from its published wheel, against a live service.

The trainers themselves cannot be installed everywhere (flash-attn, other versions of torch), but this module
needs little beside it: what is not there is stubbed by name. Needs a package index: run with -m pypi.
"""

import asyncio
import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.integration.wheels import stub
from tests.remotes import none_left_open
from tests.verifier_service.server.processes import Served, served
from verifier_service.adapters import for_areal
from verifier_service.commands.path import path_of

pytestmark = [pytest.mark.pypi, pytest.mark.filterwarnings("default")]

QUESTION, GOLD = "A train covers 84 km in 1.5 h. Speed in km/h?", "56"
ANSWERS = ["84 / 1.5 = 56, so \\boxed{56}", "\\boxed{42}"]
Load = Callable[[str, str, str], ModuleType]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("published") / "log") as found:
        yield found


@pytest.fixture(autouse=True)
def _environment(service: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("VERIFIER_URL", service.url)
    monkeypatch.delenv("VERIFIER_API_KEY", raising=False)
    before = set(sys.modules)
    with none_left_open(monkeypatch):
        yield
    for_areal._default.cache_clear()
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("openrlhf", "areal", "swift", "eval_protocol", "verl"):
            del sys.modules[name]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Loads one file of a wheel as the module that it is there."""
    folder = tmp_path_factory.mktemp("wheels")

    def module(requirement: str, file: str, name: str) -> ModuleType:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
        target = folder / requirement.partition("==")[0]
        subprocess.run([*command, str(target), requirement], check=True, timeout=300, env=dict(os.environ))
        (wheel,) = target.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (member,) = (one for one in archive.namelist() if one.endswith(file))
            archive.extract(member, target)
        spec = importlib.util.spec_from_file_location(name, target / member)
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        sys.modules[name] = made
        spec.loader.exec_module(made)
        return made

    return module


class Batch(list[Any]):
    """As much of verl's DataProto as its manager uses."""

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return Batch(found) if isinstance(key, slice) else found


def test_verl(load: Load, service: Served) -> None:
    torch: Any = pytest.importorskip("torch")

    class Base:
        def __init__(self, config: Any, tokenizer: Any, compute_score: Any) -> None:
            self.tokenizer, self.loop = tokenizer, asyncio.get_running_loop()

    folder = "verl.experimental.reward_loop.reward_manager"
    stub("verl", DataProto=object)
    stub(folder, register=lambda name: lambda manager: manager)
    stub(f"{folder}.base", RewardManagerBase=Base)
    stub("verl.utils.reward_score", default_compute_score=None)
    loader = load("verl==0.9.1", "verl/utils/import_utils.py", "verl.utils.import_utils")
    naive = load("verl==0.9.1", "reward_loop/reward_manager/naive.py", f"{folder}.naive")
    compute_score = loader.load_module("pkg://verifier_service.adapters.for_verl").compute_score

    def sample(place: int) -> Batch:
        row = {
            "data_source": "rates/train",
            "reward_model": {"ground_truth": GOLD},
            "extra_info": {"split": "train", "index": place},
        }
        tensors = {"responses": torch.tensor([place]), "attention_mask": torch.tensor([1, 1])}
        return Batch([SimpleNamespace(batch=tensors, non_tensor_batch=row)])

    async def ask(router: Any) -> list[dict[str, Any]]:
        tokens = SimpleNamespace(decode=lambda ids, skip_special_tokens: ANSWERS[int(ids[0])])
        manager = naive.NaiveRewardManager({}, tokens, compute_score, router, object())
        return await asyncio.gather(*(manager.run_single(sample(place)) for place in (0, 1)))

    for router in (None, "localhost:1"):
        replies = asyncio.run(ask(router))
        assert [reply["reward_score"] for reply in replies] == [1.0, 0.0]
        assert len({frozenset(reply["reward_extra_info"]) for reply in replies}) == 1


@pytest.mark.parametrize("by", ["http", "file"])
def test_openrlhf(load: Load, service: Served, by: str, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    stub("openrlhf.utils.logging_utils", init_logger=lambda name: SimpleNamespace(info=print))
    agent = load("openrlhf==0.11.2", "openrlhf/utils/agent.py", "openrlhf.utils.agent")
    address = f"{service.url}/get_reward" if by == "http" else str(path_of("openrlhf"))
    prompt = f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n"

    async def ask() -> list[dict[str, Any]]:
        executor = agent.SingleTurnAgentExecutor(address)
        fetch = executor._fetch_rewards_via_http if by == "http" else executor._fetch_rewards_via_func
        found = [await fetch([f"{prompt}{answer}<|im_end|>"], [prompt], [GOLD]) for answer in ANSWERS]
        return [one for (one,) in found]

    replies = asyncio.run(ask())
    assert [reply["rewards"] for reply in replies] == [[1.0], [0.0]]
    assert [reply["scores"] for reply in replies] == [[1.0], [0.0]]
    assert all(
        isinstance(value, float)
        for reply in replies
        for values in reply["extra_logs"].values()
        for value in values
    )


def test_areal(load: Load) -> None:
    import logging

    stub("areal.utils", logging=logging)
    api = load("areal==1.0.4", "areal/api/reward_api.py", "areal.api.reward_api")

    async def ask() -> list[float]:
        wrapper = api.AsyncRewardWrapper(for_areal.reward_fn, max_workers=1)
        return [await wrapper(QUESTION, answer, [1], [2], answer=GOLD) for answer in ANSWERS]

    try:
        assert asyncio.run(ask()) == [1.0, 0.0]
    finally:
        api.AsyncRewardWrapper._atexit_shutdown_all()


def test_ms_swift(load: Load) -> None:
    torch: Any = pytest.importorskip("torch")
    stub("swift.rl_core.data", GRPOSample=object)
    stub("swift.utils", get_logger=lambda: SimpleNamespace(warning=print))
    columns = SimpleNamespace(
        rows_to_batched=lambda rows: {name: [row[name] for row in rows] for name in rows[0]}
    )
    stub("swift.dataset", RowPreprocessor=columns)
    stub("swift.rewards", orms={})
    algorithm = load("ms-swift==4.6.0", "swift/rl_core/grpo_algorithm.py", "swift.rl_core.grpo_algorithm")
    # As `--external_plugins` loads it.
    spec = importlib.util.spec_from_file_location("_swift_external_0", path_of("ms_swift"))
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    reward = import_module("swift.rewards").orms["verifier"](args=None)

    def sample(answer: str, gold: Any) -> SimpleNamespace:
        messages = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": answer}]
        return SimpleNamespace(
            messages=messages, to_reward_row=lambda: {"solution": gold, "messages": messages}
        )

    samples = [sample(ANSWERS[0], GOLD), sample(ANSWERS[1], GOLD), sample(ANSWERS[0], None)]
    rewards = algorithm.compute_rewards_per_func(samples, [reward], [None], torch.device("cpu"))
    assert rewards[:2, 0].tolist() == [1.0, 0.0]
    assert torch.isnan(rewards[2, 0])


def test_eval_protocol(load: Load, service: Served) -> None:
    pytest.importorskip("requests")
    stub("eval_protocol.models", EvaluateResult=SimpleNamespace, MetricResult=SimpleNamespace)
    stub("eval_protocol.typed_interface", reward_function=None)
    module = load(
        "eval-protocol==0.3.33", "eval_protocol/reward_function.py", "eval_protocol.reward_function"
    )
    remote = module.RewardFunction(mode="remote", endpoint=f"{service.url}/evaluate")
    found = []
    for answer in ANSWERS:
        messages = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": answer}]
        found.append(remote(messages, ground_truth=GOLD).score)
    assert found == [1.0, 0.0]
