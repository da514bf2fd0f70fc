"""The adapters called with what the trainers were seen to pass; the files in tests/integration/recorded."""

import asyncio
import importlib.util
import inspect
import math
import pickle
import pkgutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from tests.verifier_service.adapters.calls import Trace
from tests.verifier_service.adapters.conftest import record
from tests.verifier_service.server.processes import Served
from verifier_service.adapters import (
    for_areal,
    for_easyr1,
    for_nemo_rl,
    for_openrlhf,
    for_rllm,
    for_slime,
    for_tinker_cookbook,
    for_trl,
    for_verl,
)
from verifier_service.adapters.common import NoVerdict, item_of
from verifier_service.adapters.for_torchforge import Reward
from verifier_service.adapters.for_verifiers import remote_reward

pytestmark = pytest.mark.usefixtures("service")


def by_path(name: str, as_name: str) -> ModuleType:
    """The adapter loaded as the trainers load a file."""
    import verifier_service.adapters

    path = Path(verifier_service.adapters.__file__).with_name(f"for_{name}.py")
    spec = importlib.util.spec_from_file_location(as_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Logged:
    """The two functions that TRL passes."""

    def __init__(self) -> None:
        self.extra: dict[str, list[Any]] = {}
        self.metrics: dict[str, float] = {}

    def log_extra(self, column: str, values: list[Any]) -> None:
        self.extra[column] = values

    def log_metric(self, name: str, value: float) -> None:
        self.metrics[name] = value


def trl_call(logged: Logged) -> dict[str, Any]:
    call: dict[str, Any] = record("trl")["call"]["kwargs"]
    return {
        **call,
        "trainer_state": SimpleNamespace(global_step=1),
        "log_extra": logged.log_extra,
        "log_metric": logged.log_metric,
    }


def test_trl_with_messages() -> None:
    logged = Logged()
    function = pickle.loads(pickle.dumps(for_trl.reward_function()))
    assert function(**trl_call(logged)) == [1.0, 0.0]
    assert function.__name__ == "verifier"
    assert not inspect.iscoroutinefunction(function.__call__)
    assert logged.extra == {"verdict": ["correct", "incorrect"], "extracted": ["56", "42"]}
    assert logged.metrics == {"verifier/no_verdict": 0.0}
    function.remote.close()


def test_trl_with_plain_texts_and_without_the_logs() -> None:
    call = record("trl")["call_plain_prompts"]
    kwargs = {"prompts": call["prompts"], "completions": call["completions"], "solution": ["56", "56"]}
    assert for_trl.reward_function()(**kwargs) == [1.0, 0.0]
    assert for_trl.verifier(**kwargs) == [1.0, 0.0]


def test_trl_takes_the_thinking_that_a_template_took_apart() -> None:
    message = {"role": "assistant", "content": "It is \\boxed{56}.", "reasoning_content": "84 / 1.5"}
    function = for_trl.reward_function(profile="r1-zero")
    assert function(prompts=["?"], completions=[[message]], answer=["56"]) == [2.0]


def test_trl_awaits_the_asynchronous_one() -> None:
    function = pickle.loads(pickle.dumps(for_trl.async_reward_function(name="awaited")))
    assert function.__name__ == "awaited"
    assert inspect.iscoroutinefunction(type(function).__call__)
    assert inspect.iscoroutinefunction(for_trl.async_verifier)
    for asked in (function, for_trl.async_verifier):
        logged = Logged()
        assert asyncio.run(asked(**trl_call(logged))) == [1.0, 0.0]
        assert logged.metrics == {"verifier/no_verdict": 0.0}


def test_trl_with_golds_that_are_arrays_asks_once() -> None:
    numpy = pytest.importorskip("numpy")
    functions = for_trl.reward_functions(profile="r1-zero")
    call = {
        "prompts": ["?"] * 2,
        "completions": ["<think>a</think>\\boxed{5}", "\\boxed{6}"],
        "answer": numpy.array(["5", "5"]),
        "data_source": numpy.array(["a", "b"]),
    }
    assert [function(**call) for function in functions] == [[1.0, 0.0], [1.0, 0.0]]
    assert functions[0]._shared.function.remote.counts.items == 2


def test_trl_with_one_function_per_reward_asks_once(service: Served) -> None:
    functions = pickle.loads(pickle.dumps(for_trl.reward_functions(profile="r1-zero")))
    assert [function.__name__ for function in functions] == ["accuracy", "format"]
    call = {
        "prompts": ["?"] * 3,
        "completions": ["<think>a</think>\\boxed{5}", "\\boxed{5}", "<think>a</think>\\boxed{6}"],
        "answer": ["5"] * 3,
    }
    assert [function(**call) for function in functions] == [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    shared = functions[0]._shared
    assert shared.function.remote.counts.items == 3
    call["completions"] = ["\\boxed{6}"] * 3
    assert [function(**call) for function in functions] == [[0.0] * 3, [0.0] * 3]
    assert shared.function.remote.counts.items == 6
    shared.function.remote.close()


def test_trl_is_told_none_by_every_function_where_there_is_no_verdict() -> None:
    functions = for_trl.reward_functions(profile="r1-zero", max_error_rate=1)
    logged = Logged()
    call = {"prompts": ["?"], "completions": ["<think>a</think>\\boxed{5}"], "answer": [None]}
    parts = [
        function(**call, log_metric=logged.log_metric, log_extra=logged.log_extra) for function in functions
    ]
    assert parts == [[None], [None]]
    assert logged.metrics == {"verifier/no_verdict": 1.0}


def test_trl_says_which_column_is_missing() -> None:
    with pytest.raises(ValueError, match=r"no column with the reference answer \(.*solution.*among source"):
        for_trl.reward_function()(prompts=["?"], completions=["5"], source=["a"])


def test_trl_sends_lengths_where_the_profile_wants_them() -> None:
    function = for_trl.reward_function(profile="dapo", max_tokens=10)
    call = {"prompts": ["?"] * 2, "completions": ["\\boxed{5}"] * 2, "answer": ["5"] * 2}
    assert function(**call, completion_ids=[[1], [1] * 9]) == [1.0, pytest.approx(0.5)]


def test_verl_with_the_same_keys_for_every_sample(service: Served) -> None:
    recorded = record("verl")
    kwargs = {**recorded["call"]["kwargs"], "url": f"{service.url}/score"}
    assert inspect.iscoroutinefunction(for_verl.compute_score)
    reply = asyncio.run(for_verl.compute_score(**kwargs))
    assert reply == {"score": 1.0, "acc": 1.0, "format": 0.0, "verifier_error": 0.0}
    assert set(reply) == set(recorded["returns"])
    unjudged = asyncio.run(for_verl.compute_score(**{**kwargs, "ground_truth": None}))
    assert unjudged == {"score": 0.0, "acc": 0.0, "format": 0.0, "verifier_error": 1.0}


def test_verl_with_a_profile() -> None:
    kwargs = {**record("verl")["call"]["kwargs"], "url": None, "profile": "r1-zero"}
    reply = asyncio.run(for_verl.compute_score(**kwargs))
    assert (reply["score"], reply["format"]) == (1.0, 0.0)


def test_verl_in_a_batch() -> None:
    recorded = record("verl_batch_legacy")
    replies = for_verl.compute_score_batch(**recorded["call"]["kwargs"])
    assert [reply["score"] for reply in replies] == [one["score"] for one in recorded["returns"]]


def test_openrlhf_as_a_file() -> None:
    sent = record("openrlhf")["request"]["json"]
    module = by_path("openrlhf", "reward_func")
    reply = module.reward_func(sent["query"], sent["prompts"], sent["labels"])
    assert reply == record("openrlhf")["response"]["json"]
    assert for_openrlhf.reward_func([], [], []) == {
        "rewards": [],
        "scores": [],
        "extra_logs": {"correct": [], "verifier_error": []},
    }


def test_openrlhf_where_the_tokenizer_begins_the_text_with_a_token() -> None:
    """The token stands in the query, not in the prompt; the example in the prompt is no answer."""
    prompt = "<|user|>\nLike this: \\boxed{56}\n84 km in 1.5 h?<|assistant|>\n"
    query = f"<|begin_of_text|>{prompt}\\boxed{{42}}<|eot_id|>"
    assert for_openrlhf.reward_func([query], [prompt], ["56"])["rewards"] == [0.0]


def test_slime_one_and_many() -> None:
    sample = SimpleNamespace(**record("slime_custom_rm")["sample"])
    assert asyncio.run(for_slime.rm(SimpleNamespace(), sample)) == 1.0
    assert asyncio.run(for_slime.rm(SimpleNamespace(), [sample, sample], evaluation=False)) == [1.0, 1.0]
    keyed = asyncio.run(for_slime.rm(SimpleNamespace(reward_key="score"), sample))
    assert isinstance(keyed, dict)
    assert set(record("slime")["response_with_reward_key"]["json"]) <= set(keyed)


def test_ms_swift_as_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    rewards = ModuleType("swift.rewards")
    rewards.orms = {}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "swift", ModuleType("swift"))
    monkeypatch.setitem(sys.modules, "swift.rewards", rewards)
    by_path("ms_swift", "_swift_external_0")
    call = record("ms_swift")["call"]
    function = rewards.orms["verifier"](args=SimpleNamespace())
    assert function(*call["args"], **call["kwargs"]) == [1.0, 0.0]
    # A second step, under an event loop of its own.
    assert asyncio.run(_called(function, call)) == [1.0, 0.0]


async def _called(function: Any, call: Any) -> Any:
    return function(*call["args"], **call["kwargs"])


def test_easyr1_as_a_file(service: Served) -> None:
    call = record("easyr1")["call"]
    module = by_path("easyr1", "easyr1")
    assert module.REWARD_TYPE == "batch"
    replies = module.score(*call["args"], url=f"{service.url}/score", profile="r1-zero")
    assert [reply["overall"] for reply in replies] == [1.0, 0.0]
    assert len({frozenset(reply) for reply in replies}) == 1
    assert set(record("easyr1")["returns"][0]) <= set(replies[0])
    assert for_easyr1.score([], url=service.url) == []


def test_areal_in_another_process() -> None:
    call = record("areal")["call"]
    assert for_areal.reward_fn(*call["args"], **call["kwargs"]) == 1.0
    function = pickle.loads(pickle.dumps(for_areal.reward_fn))
    assert type(function(*call["args"], **call["kwargs"])) is float
    # AReaL gives up after 15 s, while its pool goes on working; the service is told to reply in time.
    patience = for_areal.RewardFunction().remote.client.patience
    assert patience.total_s is not None
    assert patience.total_s < 15
    configured = pickle.loads(pickle.dumps(for_areal.RewardFunction(on_no_verdict="raise")))
    assert configured(*call["args"], **call["kwargs"]) == 1.0
    configured.remote.close()


def test_verifiers_by_the_names_of_its_parameters() -> None:
    assert list(inspect.signature(remote_reward).parameters) == ["task", "trace"]
    sent = record("verifiers")["http_sent_by_client"]["json"]["items"][0]
    row = {"question": sent["prompt"], "answer": sent["ground_truth"]}
    trace = Trace(sent["completion"])
    reward = asyncio.run(remote_reward(task=SimpleNamespace(data=row), trace=trace))
    assert (reward, type(reward)) == (1.0, float)
    assert trace.metrics == {"verifier_error": 0.0, "verifier_accuracy": 1.0}


class Rays:
    """As much of ray as makes an actor of a class."""

    @staticmethod
    def remote(cls: type[Any]) -> Any:
        def options(runtime_env: Any) -> Any:
            return SimpleNamespace(remote=cls)

        return SimpleNamespace(options=options)


def test_nemo_rl_makes_its_actor(monkeypatch: pytest.MonkeyPatch, service: Served) -> None:
    """As `create_env` does: it looks the class up by its name, and for its python among the registered ones."""
    pytest.importorskip("torch")
    pythons: dict[str, str] = {}
    registered: dict[str, str] = {}
    modules = {
        "nemo_rl.distributed.virtual_cluster": {"PY_EXECUTABLES": SimpleNamespace(SYSTEM="python")},
        "nemo_rl.distributed.ray_actor_environment_registry": {"ACTOR_ENVIRONMENT_REGISTRY": pythons},
        "nemo_rl.environments.utils": {"register_env": registered.__setitem__},
        "nemo_rl.environments.interfaces": {"EnvironmentReturn": SimpleNamespace},
        "ray": {"remote": Rays.remote},
    }
    for name, members in modules.items():
        module = ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    for_nemo_rl.register()
    actor = pkgutil.resolve_name(registered["verifier"])
    assert pythons[registered["verifier"]] == "python"
    environment = actor.options(runtime_env={}).remote({"url": service.url, "profile": "r1-zero"})
    logs = [
        [{"role": "user", "content": prompt}, {"role": "assistant", "content": "84 / 1.5</think>\\boxed{56}"}]
        for prompt in ("<|user|>why?<|assistant|><think>\n", "why?")
    ]
    reply = environment.step(logs, [{"ground_truth": "56"}] * 2)
    # The rendered prompt of the first one opens the thinking.
    assert reply.rewards.tolist() == [2.0, 1.0]
    assert (reply.answers, reply.next_stop_strings) == (["56", "56"], [None, None])
    assert environment.global_post_process_and_metrics("batch") == ("batch", {"verifier_error": 0.0})
    environment.shutdown()
    with pytest.raises(AttributeError):
        for_nemo_rl.Actress  # noqa: B018


def test_rllm_with_the_shapes_of_its_versions() -> None:
    answer, row = "So \\boxed{56}", {"question": "?", "ground_truth": "56"}
    spoken = SimpleNamespace(model_response=answer)
    called = SimpleNamespace(model_response="", chat_completions=None, output="")
    chatted = SimpleNamespace(chat_completions=[{"role": "assistant", "content": answer}])
    for task in (row, SimpleNamespace(metadata=row), SimpleNamespace(data=row, spec=None)):
        for steps in ([spoken], [spoken, called], [chatted]):
            episode = SimpleNamespace(trajectories=[SimpleNamespace(steps=steps)])
            assert for_rllm.evaluate(task, episode) == (1.0, True)
    for episode in (
        SimpleNamespace(trajectories=[], artifacts={"answer": answer}),
        SimpleNamespace(trajectories=[SimpleNamespace(steps=[], output=answer)], artifacts={}),
    ):
        assert for_rllm.evaluate(row, episode) == (1.0, True)
    with pytest.raises(NoVerdict, match="holds no text"):
        for_rllm.evaluate(row, SimpleNamespace(trajectories=[], artifacts={}))


def test_tinker_with_a_message_in_parts() -> None:
    parts = [{"type": "thinking", "thinking": "84 / 1.5"}, {"type": "text", "text": "\\boxed{56}"}]
    message = {"role": "assistant", "content": parts}
    reward, metrics = asyncio.run(for_tinker_cookbook.grade([message], "56", "84 km in 1.5 h?"))
    assert (reward, metrics["correct"]) == (1.0, 1.0)
    item = item_of([message], "56")
    assert item["completion"] == [
        {"role": "assistant", "content": parts[1:], "reasoning_content": "84 / 1.5"}
    ]


class Said(BaseModel, extra="allow"):
    """As the chat APIs' own classes: fields they do not know are no part of their __dict__."""

    role: Literal["assistant"] = "assistant"
    content: Any


@pytest.mark.parametrize(
    "completion",
    [
        {"role": "assistant", "content": "5"},
        [{"role": "assistant", "content": ["5"]}],
        [Said(content="5")],
        [Said(content=[SimpleNamespace(type="text", text="5"), {"type": "image_url"}])],
    ],
)
def test_a_message_may_have_any_of_its_usual_shapes(completion: Any) -> None:
    [message] = item_of(completion, "5")["completion"]
    assert message["role"] == "assistant"
    assert message["content"] in ("5", [{"type": "text", "text": "5"}])


def test_the_thinking_of_a_message_that_is_an_object_is_kept() -> None:
    said = Said(content="5", reasoning_content="2 + 3")
    assert item_of([said], "5")["completion"][0]["reasoning_content"] == "2 + 3"


@pytest.mark.parametrize("completion", [[1, 2], ["5"], [{"content": "5"}], [[]], 5, b"5"])
def test_what_is_no_text_and_no_message_is_no_wrong_answer(completion: Any) -> None:
    with pytest.raises(TypeError):
        item_of(completion, "5")


def test_torchforge_is_a_plain_function_of_three_texts() -> None:
    reward = pickle.loads(pickle.dumps(Reward()))
    assert reward("84 km in 1.5 h?", "\\boxed{56}", "56") == 1.0
    reward.remote.close()
    assert math.isclose(Reward(profile="r1-zero-half-format")("?", "<think>1</think>\\boxed{1}", "1"), 1.5)


def test_a_prompt_that_opens_the_thinking_is_seen() -> None:
    reward = Reward(profile="r1-zero")
    opened = "<|im_start|>assistant\n<think>\n"
    assert reward(opened, "84 / 1.5</think>\\boxed{56}", "56") == 2.0
    assert reward("no such thing", "84 / 1.5</think>\\boxed{56}", "56") == 1.0
