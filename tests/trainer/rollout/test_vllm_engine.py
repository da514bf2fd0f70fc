"""The engine over vLLM's LLM, with a stand-in for it: what is asked of vLLM, in which order, and for how long."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from grpo_trainer.config import TrainConfig  # noqa: E402
from grpo_trainer.loading import load_config  # noqa: E402
from grpo_trainer.rollout import RolloutError, Sampling  # noqa: E402
from grpo_trainer.rollout import vllm_engine as module  # noqa: E402
from grpo_trainer.rollout.vllm_answers import sampling_params  # noqa: E402
from grpo_trainer.rollout.vllm_engine import Vllm, VllmEngine, vllm_arguments, vllm_starter  # noqa: E402
from grpo_trainer.rollout.weight_folder import WeightFolder  # noqa: E402

WEIGHTS = [("lm_head.weight", torch.ones(2, 2))]
DRAWN = Sampling(temperature=0.7, max_tokens=5, seed=3)


class FakeLlm:
    """Answers every question by its first token, twice over. calls: in order."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.llm_engine = self.engine_core = self
        self.version = "default"
        self.waiting: list[tuple[str, Any, Any]] = []
        self.aborted: list[str] = []
        self.before_step: Callable[[], None] = lambda: None
        self.finish = "stop"
        self.reset = True
        self.thread: set[int] = set()

    def note(self, call: str) -> None:
        self.calls.append(call)
        self.thread.add(threading.get_ident())

    def add_request(self, name: str, prompt: Any, params: Any) -> None:
        self.waiting.append((name, prompt, params))

    def step(self) -> list[Any]:
        self.note("step")
        self.before_step()
        name, prompt, params = self.waiting.pop()
        first = prompt["prompt_token_ids"][0]
        span = SimpleNamespace(version=self.version)
        outputs = [
            SimpleNamespace(
                index=index,
                token_ids=[first, index],
                logprobs=[{first: SimpleNamespace(logprob=-0.5)}, {index: SimpleNamespace(logprob=-1.5)}],
                finish_reason=self.finish,
                weight_versions=[span],
            )
            for index in reversed(range(params["n"]))
        ]
        return [
            SimpleNamespace(request_id="someone", finished=False, outputs=[]),
            SimpleNamespace(request_id=name, finished=True, outputs=outputs),
        ]

    def abort_request(self, names: list[str]) -> None:
        self.aborted += names

    def shutdown(self, timeout: float) -> None:
        self.note("shutdown")

    def sleep(self, level: int) -> None:
        self.note(f"sleep {level}")

    def wake_up(self, tags: list[str]) -> None:
        self.note(f"wake {' '.join(tags)}")

    def collective_rpc(self, method: str, kwargs: dict[str, Any]) -> None:
        assert (Path(kwargs["weights_path"]) / "model-00000.safetensors").is_file()
        self.note(method)

    def reset_prefix_cache(self) -> bool:
        self.note("reset_prefix_cache")
        return self.reset

    def update_weight_version(self, version: str) -> None:
        self.note(f"version {version}")
        self.version = version


def config_of(*words: str) -> TrainConfig:
    return load_config("tiny-cpu", overrides=["rollout.engine=vllm", *words])


def engine_over(llm: FakeLlm, folder: Path, *words: str) -> VllmEngine:
    weights = WeightFolder(folder / "weights", torch.float32)
    return VllmEngine(lambda: Vllm(llm, dict), [1, 4], weights, config_of(*words))


def test_answers_come_in_the_order_of_their_numbers_with_their_log_probabilities(tmp_path: Path) -> None:
    engine = engine_over(FakeLlm(), tmp_path)
    engine.sync(WEIGHTS, 7)
    groups = sorted(engine.generate([(5,), (6, 2)], 2, DRAWN), key=lambda group: group.place)
    assert [[a.token_ids for a in g.answers] for g in groups] == [[(5, 0), (5, 1)], [(6, 0), (6, 1)]]
    assert {a.logprobs for g in groups for a in g.answers} == {(-0.5, -1.5)}
    assert {(a.version, a.finish) for g in groups for a in g.answers} == {(7, "stop")}


def test_weights_wake_first_then_they_are_loaded_and_only_then_the_cache_wakes(tmp_path: Path) -> None:
    llm = FakeLlm()
    engine = engine_over(llm, tmp_path, "rollout.sleep=2")
    engine.sync(WEIGHTS, 1)
    engine.rest()
    engine.rest()
    engine.sync(WEIGHTS, 2)
    load = ["reload_weights", "reset_prefix_cache"]
    woken = ["wake weights", "reload_weights", "wake kv_cache", "reset_prefix_cache", "version 2"]
    assert llm.calls == [*load, "version 1", "sleep 2", *woken]
    assert len(llm.thread) == 1
    assert llm.thread != {threading.get_ident()}


def test_without_a_level_it_never_sleeps(tmp_path: Path) -> None:
    llm = FakeLlm()
    engine = engine_over(llm, tmp_path)
    engine.rest()
    assert llm.calls == []


def test_a_sleeping_engine_refuses_to_draw(tmp_path: Path) -> None:
    engine = engine_over(FakeLlm(), tmp_path, "rollout.sleep=1")
    engine.sync(WEIGHTS, 1)
    engine.rest()
    with pytest.raises(RolloutError, match="only after a sync"):
        list(engine.generate([(5,)], 1, DRAWN))


def test_a_step_that_never_ends_is_given_up_and_everything_after_it_refused(tmp_path: Path) -> None:
    llm, over = FakeLlm(), threading.Event()
    llm.before_step = lambda: over.wait()  # type: ignore[assignment]
    engine = engine_over(llm, tmp_path, "rollout.silence_s=0.2")
    engine.sync(WEIGHTS, 1)
    with pytest.raises(RolloutError, match=r"did not finish within 0\.2 s: the next token"):
        list(engine.generate([(5,)], 1, DRAWN))
    with pytest.raises(RolloutError, match="did not finish"):
        engine.sync(WEIGHTS, 2)
    over.set()


def test_what_fails_inside_vllm_is_told_with_its_own_words(tmp_path: Path) -> None:
    def fail() -> None:
        raise MemoryError("no room for the cache")

    llm = FakeLlm()
    llm.before_step = fail
    engine = engine_over(llm, tmp_path)
    engine.sync(WEIGHTS, 1)
    with pytest.raises(RolloutError, match="the next token: MemoryError: no room for the cache"):
        list(engine.generate([(5,), (6,)], 1, DRAWN))
    assert sorted(llm.aborted) == ["0", "1"]


def test_an_answer_by_other_weights_is_refused(tmp_path: Path) -> None:
    llm = FakeLlm()
    engine = engine_over(llm, tmp_path)
    engine.sync(WEIGHTS, 1)
    llm.version = "0"
    with pytest.raises(RolloutError, match="drawn by weights 0, and the policy is at version 1"):
        list(engine.generate([(5,)], 1, DRAWN))


def test_an_answer_that_was_broken_off_is_refused(tmp_path: Path) -> None:
    llm = FakeLlm()
    llm.finish = "abort"
    engine = engine_over(llm, tmp_path)
    engine.sync(WEIGHTS, 1)
    with pytest.raises(RolloutError, match="for the reason abort"):
        list(engine.generate([(5,)], 1, DRAWN))


def test_a_prefix_cache_that_stays_full_is_an_error(tmp_path: Path) -> None:
    llm = FakeLlm()
    llm.reset = False
    with pytest.raises(RolloutError, match="prefix cache"):
        engine_over(llm, tmp_path).sync(WEIGHTS, 1)


def test_a_round_that_nobody_takes_to_its_end_is_called_off(tmp_path: Path) -> None:
    llm = FakeLlm()
    engine = engine_over(llm, tmp_path)
    engine.sync(WEIGHTS, 1)
    groups = engine.generate([(5,), (6,), (7,)], 1, DRAWN)
    next(groups)
    groups.close()  # type: ignore[attr-defined]
    assert sorted(llm.aborted) == ["0", "1"]


def test_closing_ends_the_engine_and_removes_the_weights_even_where_it_hangs(tmp_path: Path) -> None:
    llm, over = FakeLlm(), threading.Event()
    engine = engine_over(llm, tmp_path, "rollout.silence_s=0.2")
    engine.sync(WEIGHTS, 1)
    llm.before_step = lambda: over.wait()  # type: ignore[assignment]
    with pytest.raises(RolloutError, match="did not finish"):
        list(engine.generate([(5,)], 1, DRAWN))
    engine.close()
    assert "shutdown" not in llm.calls
    assert list(tmp_path.iterdir()) == []
    over.set()
    other = engine_over(llm, tmp_path)
    other.close()
    assert llm.calls[-1] == "shutdown"


def test_every_question_has_luck_of_its_own_and_nothing_alters_the_distribution() -> None:
    first, second = (sampling_params(DRAWN, place, 8, [1, 4]) for place in (0, 1))
    assert first.pop("seed") != second.pop("seed")
    assert first == second
    assert first["logprobs"] == 0
    assert (first["top_p"], first["top_k"], first["min_p"]) == (1.0, 0, 0.0)
    assert (first["n"], first["temperature"], first["max_tokens"]) == (8, 0.7, 5)
    assert first["stop_token_ids"] == [1, 4]


def test_the_arguments_ask_for_the_log_probabilities_of_what_is_drawn() -> None:
    plain = vllm_arguments(config_of("sampling.batch=64"), gpu=False)
    assert plain["logprobs_mode"] == "processed_logprobs"
    assert plain["generation_config"] == "vllm"
    assert (plain["dtype"], plain["max_model_len"], plain["max_num_seqs"]) == ("float32", 32 + 24, 64)
    on_gpu = vllm_arguments(config_of("rollout.sleep=2", "rollout.gpu_memory=0.3"), gpu=True)
    assert (on_gpu["enable_sleep_mode"], on_gpu["gpu_memory_utilization"]) == (True, 0.3)
    assert "enforce_eager" not in on_gpu


def test_without_vllm_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(RolloutError, match=r"pip install 'grpo-trainer\[vllm\]'"):
        vllm_starter("model", config_of())
