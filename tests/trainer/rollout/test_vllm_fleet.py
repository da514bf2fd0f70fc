"""vLLM servers over HTTP, played by fakes that die, hang and come back at the worst of times."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from grpo_trainer.batches import Sequences  # noqa: E402
from grpo_trainer.config import TrainConfig  # noqa: E402
from grpo_trainer.loading import load_config  # noqa: E402
from grpo_trainer.policy import Policy  # noqa: E402
from grpo_trainer.ranks import ALONE, Ranks  # noqa: E402
from grpo_trainer.rollout import Group, RolloutError, Sampling  # noqa: E402
from grpo_trainer.rollout.vllm_fleet import VllmServers  # noqa: E402
from grpo_trainer.rollout.weight_folder import WeightFolder  # noqa: E402
from tests.trainer.fake_vllm import FakeVllm, fake_vllm  # noqa: E402
from tests.trainer.tiny_models import tiny_model  # noqa: E402

PROMPTS = [(2 + place, 3) for place in range(12)]
DRAWN = Sampling(temperature=0.8, max_tokens=6, seed=3)
SILENCE_S = 1.0


def config_of(fakes: list[FakeVllm], *words: str) -> TrainConfig:
    urls = ", ".join(f"'{fake.url}'" for fake in fakes)
    rollout = ["engine=vllm-server", f"servers=[{urls}]", f"silence_s={SILENCE_S}", "outage_s=1"]
    words = ("sampling.temperature=0.8", *words)
    return load_config("tiny-cpu", overrides=[*(f"rollout.{word}" for word in rollout), *words])


@contextmanager
def fleet(
    folder: Path, count: int, *words: str, said: list[str] | None = None
) -> Iterator[tuple[VllmServers, list[FakeVllm]]]:
    """An engine over so many fakes, and a policy's weights in them as version 1."""
    with ExitStack() as stack:
        fakes = [stack.enter_context(fake_vllm()) for _ in range(count)]
        weights = WeightFolder(folder / "weights", torch.float32)
        heard = said if said is not None else []
        engine = VllmServers(config_of(fakes, *words), [1, 4], weights, say=heard.append)
        stack.enter_context(closing(engine))
        engine.sync(policy().full_weights(), 1)
        yield engine, fakes


def policy() -> Policy:
    return Policy(tiny_model(5), load_config("tiny-cpu", overrides=["sampling.temperature=0.8"]))


def answered(engine: VllmServers) -> list[Group]:
    return sorted(engine.generate(PROMPTS, 2, DRAWN), key=lambda group: group.place)


def largest_gap(groups: list[Group]) -> float:
    answers = [answer for group in groups for answer in group.answers]
    sequences = Sequences(
        tuple(PROMPTS[g.place] for g in groups for _ in g.answers), tuple(a.token_ids for a in answers)
    )
    ours_BT = policy().logprobs(sequences)
    return max(
        abs(a - b)
        for row, answer in enumerate(answers)
        for a, b in zip(ours_BT[row].tolist(), answer.logprobs, strict=False)
    )


def test_all_servers_draw_with_the_weights_of_the_policy(tmp_path: Path) -> None:
    with fleet(tmp_path, 2) as (engine, fakes):
        groups = answered(engine)
    assert [group.place for group in groups] == list(range(12))
    assert largest_gap(groups) < 1e-4
    assert {a.version for g in groups for a in g.answers} == {1}
    assert all(fake.prompts for fake in fakes)
    assert sorted(tuple(p) for fake in fakes for p in fake.prompts) == sorted(PROMPTS)


def test_an_update_pauses_loads_empties_the_cache_names_the_version_and_resumes(tmp_path: Path) -> None:
    with fleet(tmp_path, 1) as (_, (fake,)):
        update = [route for route in fake.asked if route not in ("/health", "/weight_info", "/v1/models")]
    assert update == ["/pause", "/collective_rpc", "/reset_prefix_cache", "/update_weight_version", "/resume"]


class Blow:
    """Does something to a server as soon as it has answered so many questions."""

    def __init__(self, fake: FakeVllm, after: int, **state: Any) -> None:
        self._original, self._after, self._state, self._fake = fake.choices, after, state, fake
        fake.choices = self  # type: ignore[assignment,method-assign]

    def __call__(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        choices = self._original(body)
        if len(self._fake.prompts) >= self._after:
            for name, value in self._state.items():
                setattr(self._fake, name, value)
        return choices


@pytest.mark.parametrize("state", [{"deaf": True}, {"hung": True}, {"version": "default"}])
def test_a_server_that_dies_hangs_or_forgets_in_mid_round_costs_no_answer(
    tmp_path: Path, state: dict[str, Any]
) -> None:
    said: list[str] = []
    with fleet(tmp_path, 2, "sampling.batch=4", said=said) as (engine, fakes):
        Blow(fakes[0], 2, **state)
        started = time.monotonic()
        groups = answered(engine)
        seconds = time.monotonic() - started
        numbers = engine.numbers()
    assert [group.place for group in groups] == list(range(12))
    assert largest_gap(groups) < 1e-4
    assert numbers["engine/servers_lost"] >= 1
    assert any(fakes[0].url in text and "1 of 2 servers are left" in text for text in said)
    assert seconds < 20 * SILENCE_S


@pytest.mark.parametrize(
    "spoiled, words",
    [
        ({"logprobs": {"content": [{"logprob": float("nan")}]}}, "no number"),
        ({"logprobs": {"content": [{"logprob": float("-inf")}]}}, "no number"),
        ({"logprobs": {"content": [{"logprob": None}]}}, "as vLLM 0.32 does"),
        ({"logprobs": {"content": []}}, "1 tokens and 0 log-probabilities"),
        ({"token_ids": [-1]}, "no id"),
        ({"token_ids": ["1"]}, "no id"),
        ({"weight_versions": [{"version": "0"}]}, "by weights 0, and the policy is at version 1"),
        ({"weight_versions": None}, "by weights no known weights"),
        ({"finish_reason": "abort"}, "abort"),
    ],
)
def test_an_answer_that_cannot_be_trained_on_is_drawn_by_another_server(
    tmp_path: Path, spoiled: dict[str, Any], words: str
) -> None:
    said: list[str] = []
    short = {"token_ids": [1], "logprobs": {"content": [{"logprob": -0.5}]}}
    with fleet(tmp_path, 2, said=said) as (engine, fakes):
        whole = fakes[0].choice
        fakes[0].choice = lambda place, answer: whole(place, answer) | short | spoiled  # type: ignore[method-assign]
        groups = answered(engine)
    assert [group.place for group in groups] == list(range(12))
    assert largest_gap(groups) < 1e-4
    assert any(fakes[0].url in text and words in text for text in said)


@pytest.mark.parametrize("route", ["/reset_prefix_cache", "/weight_info"])
@pytest.mark.parametrize("reply", [{}, [], "ok", None])
def test_a_server_that_does_not_speak_as_vllm_is_given_up(tmp_path: Path, route: str, reply: Any) -> None:
    said: list[str] = []
    with fleet(tmp_path, 2, said=said) as (engine, fakes):
        engine._ranks = Ranks(rank=1) if route == "/weight_info" else ALONE
        fakes[0].broken[route] = 200, reply
        engine._background.start(engine._hand_out()).result()
        groups = answered(engine)
    assert len(groups) == 12
    assert any(f"{fakes[0].url} does not answer as vLLM 0.32 does" in text for text in said)


def test_a_server_that_comes_back_draws_only_after_it_has_the_weights(tmp_path: Path) -> None:
    said: list[str] = []
    with fleet(tmp_path, 1, "sampling.batch=2", "rollout.outage_s=30", said=said) as (engine, (fake,)):
        groups: list[Group] = []
        for group in engine.generate(PROMPTS, 2, DRAWN):
            groups.append(group)
            if len(groups) == 3:
                fake.restart()
    assert sorted(group.place for group in groups) == list(range(12))
    assert largest_gap(groups) < 1e-4
    assert any("weights default" in text for text in said)
    assert any("is back, with the weights of step 1" in text for text in said)


@pytest.mark.parametrize("state", ["deaf", "hung"])
def test_without_any_server_a_round_ends_after_the_outage(tmp_path: Path, state: str) -> None:
    with fleet(tmp_path, 1) as (engine, (fake,)):
        setattr(fake, state, True)
        started = time.monotonic()
        with pytest.raises(RolloutError, match=r"no vLLM server for 1 s \(rollout.outage_s\).*--resume"):
            answered(engine)
        assert time.monotonic() - started < 1 + 10 * SILENCE_S


@pytest.mark.parametrize("state", ["deaf", "hung"])
def test_without_any_server_a_sync_ends_after_the_outage(tmp_path: Path, state: str) -> None:
    with fleet(tmp_path, 2) as (engine, fakes):
        for fake in fakes:
            setattr(fake, state, True)
        with pytest.raises(RolloutError, match="no vLLM server for 1 s"):
            engine.sync(policy().full_weights(), 2)


def test_a_sync_without_one_server_goes_on_with_the_others(tmp_path: Path) -> None:
    with fleet(tmp_path, 2) as (engine, fakes):
        fakes[0].broken["/collective_rpc"] = 500, {"error": "no such folder"}
        engine.sync(policy().full_weights(), 2)
        assert engine.numbers()["engine/servers"] == 1
        assert {a.version for g in answered(engine) for a in g.answers} == {2}
        assert fakes[1].version == "2"


def test_a_request_that_never_ends_meets_its_own_deadline(tmp_path: Path) -> None:
    # The server answers its health checks, so it is the request's deadline that ends it.
    with fleet(tmp_path, 2, "rollout.timeout_s=0.5") as (engine, fakes):
        original = fakes[0].answer

        def slow(route: str, body: dict[str, Any]) -> Any:
            if route == "/inference/v1/generate":
                fakes[0].over.wait()
            return original(route, body)

        fakes[0].answer = slow  # type: ignore[method-assign]
        assert len(answered(engine)) == 12
        assert engine.numbers()["engine/questions_again"] >= 1


def test_a_question_that_fells_every_server_ends_the_run(tmp_path: Path) -> None:
    with fleet(tmp_path, 1, "rollout.outage_s=30") as (engine, (fake,)):
        fake.broken["/inference/v1/generate"] = 500, {"error": "engine died"}
        with pytest.raises(RolloutError, match=r"was lost 5 times.*engine died"):
            answered(engine)


def test_what_a_server_refuses_is_told_with_its_words(tmp_path: Path) -> None:
    with fleet(tmp_path, 1) as (engine, (fake,)):
        fake.broken["/inference/v1/generate"] = 400, {"error": "prompt is too long"}
        with pytest.raises(RolloutError, match=r"400.*prompt is too long"):
            answered(engine)


def test_a_run_does_not_begin_with_a_server_that_is_not_there(tmp_path: Path) -> None:
    with fake_vllm() as fake:
        config = config_of([fake, FakeVllm(url="http://127.0.0.1:9")])
        with pytest.raises(RolloutError, match=r"127.0.0.1:9.*starts with all of rollout.servers"):
            VllmServers(config, [1], WeightFolder(tmp_path, torch.float32))


@pytest.mark.parametrize(
    "broken, words",
    [
        ({"/weight_info": (404, {})}, "VLLM_SERVER_DEV_MODE=1 and --enable-scale-out"),
        ({"/v1/models": (401, {"error": "Unauthorized"})}, "401"),
        ({"/v1/models": (200, {"data": []})}, "does not answer as vLLM 0.32 does"),
        ({"/v1/models": (200, "hello")}, "does not answer as vLLM 0.32 does"),
    ],
)
def test_a_server_started_for_something_else_is_refused_with_the_fix(
    tmp_path: Path, broken: dict[str, Any], words: str
) -> None:
    with fake_vllm(broken=broken) as fake, pytest.raises(RolloutError, match=words):
        VllmServers(config_of([fake]), [1], WeightFolder(tmp_path, torch.float32))


def test_a_server_with_too_little_room_is_refused_with_the_fix(tmp_path: Path) -> None:
    with fake_vllm(max_model_len=40) as fake, pytest.raises(RolloutError, match="--max-model-len 56"):
        VllmServers(config_of([fake]), [1], WeightFolder(tmp_path, torch.float32))
