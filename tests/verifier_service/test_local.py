"""The client in process, on the real judge."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import ValidationError

from verifier_service.engine import engine_fingerprint
from verifier_service.local import LocalClient
from verifier_service.rewards.profile import ProfileError, UnknownProfile
from verifier_service.schema import AnyOf, GoldQuery, Item, ProfileSpec, RulesPatch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

ROOT = Path(__file__).parents[2]
IN_TIME_S = 20.0


@pytest.fixture(scope="module")
def judge() -> Iterator[LocalClient]:
    with LocalClient(2) as client:
        yield client


def boxed(answer: str, gold: object = "5") -> dict[str, object]:
    return {"completion": f"<think>so</think>It is \\boxed{{{answer}}}.", "gold": gold}


def processes_of(client: LocalClient) -> list[int]:
    """The fork server, then the workers, asked in the thread that they belong to."""

    async def asked() -> list[int]:
        return client._pool.pids

    return client._run(asked)


def busy_workers_of(client: LocalClient) -> int:
    async def asked() -> int:
        return client._pool.stats.busy

    return client._run(asked)


def test_right_wrong_and_no_verdict_come_back_in_order(judge: LocalClient) -> None:
    items = [boxed("10/2"), boxed("6"), boxed("5", "N/A"), {"completion": "no box", "gold": 5}, {"gold": "5"}]
    response = judge.score(items)
    assert response.rewards == [1.0, 0.0, None, 0.0, None]
    assert [result.outcome for result in response.results] == [
        "right",
        "wrong",
        "no_verdict",
        "wrong",
        "no_verdict",
    ]
    codes = [result.error and result.error.code for result in response.results]
    assert codes == [None, None, "unverifiable_gold", None, "invalid_item"]
    assert (response.errors, response.engine) == (2, engine_fingerprint())


def test_an_empty_batch_is_an_empty_answer(judge: LocalClient) -> None:
    assert judge.score([]).results == []


def test_items_may_be_models_or_mappings(judge: LocalClient) -> None:
    item = Item.model_validate(boxed("5") | {"id": "a", "row": 3})
    results = judge.score([item, boxed("5") | {"id": "a", "row": 3}], echo_info=True).results
    assert [result.info for result in results] == [{"row": 3}] * 2
    assert [result.reward for result in results] == [1.0] * 2


def test_profile_and_rules_are_taken_as_models_mappings_and_names(judge: LocalClient) -> None:
    spec = {"schema": 1, "rewards": {"format": {"weight": 0.5}}}
    for profile in (spec, ProfileSpec.model_validate(spec)):
        assert judge.score([boxed("6")], profile=profile).rewards == [0.5]
    assert judge.score([boxed("6")], profile="r1-zero").rewards == [1.0]
    text = {"completion": "The answer is 5.", "gold": "5"}
    for rules in ({"extraction": "lenient"}, RulesPatch(extraction="lenient")):
        assert judge.score([text], rules=rules).rewards == [1.0]
    assert judge.score([text]).rewards == [0.0]


def test_arguments_that_cannot_be_are_refused(judge: LocalClient) -> None:
    with pytest.raises(UnknownProfile, match="r1-zero"):
        judge.score([boxed("5")], profile="r1-zreo")
    with pytest.raises(ProfileError, match="akkuracy"):
        judge.score([boxed("5")], profile={"rewards": {"akkuracy": {}}})
    with pytest.raises(ValidationError):
        judge.score([boxed("5")], rules={"extraction": "anything"})
    with pytest.raises(UnknownProfile):
        LocalClient(1, profile="r1-zreo")


def test_monstrous_answers_are_wrong_and_their_neighbours_are_right(judge: LocalClient) -> None:
    server = processes_of(judge)[0]
    monsters = ["7^{10^{10}}", "(3/7)^{10^9}", "(x+1)^{10^9}", "(10^9)!", "9" * 100_000, "{" * 50_000]
    items = [boxed("5") if place % 2 else boxed(monsters[place // 2]) for place in range(12)]
    response = judge.score(items, deadline_s=IN_TIME_S)
    assert response.rewards == [0.0, 1.0] * 6
    assert processes_of(judge)[0] == server


def test_lone_surrogates_are_repaired_with_a_warning(judge: LocalClient) -> None:
    [result] = judge.score([{"completion": "\ud800 \\boxed{5}", "gold": "5"}]).results
    assert (result.reward, len(result.warnings)) == (1.0, 1)
    result.model_dump_json()


def test_threads_share_a_client_and_get_their_own_answers(judge: LocalClient) -> None:
    def ask(number: int) -> list[float | None]:
        return judge.score([boxed(str(number), place) for place in range(20)]).rewards

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, range(20)))
    assert answers == [[float(number == place) for place in range(20)] for number in range(20)]


def test_workers_killed_in_the_middle_cost_nothing(judge: LocalClient) -> None:
    items = [boxed(str(place % 7), place % 5) for place in range(1500)]
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(
            judge.score, [item | {"prompt": f"p{place}"} for place, item in enumerate(items)]
        )
        for _ in range(3):
            for pid in processes_of(judge)[1:]:
                with suppress(ProcessLookupError):  # killed in the round before
                    os.kill(pid, signal.SIGKILL)
    assert answer.result().rewards == [float(place % 7 == place % 5) for place in range(1500)]


def test_golds_are_checked_bare_or_as_queries(judge: LocalClient) -> None:
    golds = [
        "5",
        0.5,
        ["1", "2"],
        {"any_of": ["1"]},
        AnyOf(any_of=["1"]),
        {"answer": "5"},
        GoldQuery(gold="N/A"),
        None,
    ]
    results = judge.check_golds(golds).results
    assert [result.ok for result in results] == [True] * 6 + [False] * 2
    assert [result.code for result in results[6:]] == ["unverifiable_gold", "missing_input"]


def test_an_explanation_comes_on_request(judge: LocalClient) -> None:
    [result] = judge.score([boxed("5")], explain=True).results
    assert result.explanation is not None
    assert result.explanation["steps"]


def test_info_tells_who_judges(judge: LocalClient) -> None:
    info = judge.info()
    assert (info.pid, info.engine, info.default_profile) == (os.getpid(), engine_fingerprint(), "accuracy")
    assert info.profiles["r1-zero"].rewards == {"accuracy": 1.0, "format": 1.0}


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_a_fork_is_told_to_make_its_own(judge: LocalClient) -> None:
    child = os.fork()
    if child == 0:
        try:
            judge.score([boxed("5")])
        except RuntimeError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_closing_ends_the_processes_and_the_batches_under_way() -> None:
    client = LocalClient(1)
    while len(processes := processes_of(client)) < 3:  # the fork server, the worker and the spare one
        pass
    for pid in processes[1:]:
        os.kill(pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(client.score, [boxed("5")] * 3)
        until = time.monotonic() + IN_TIME_S
        while not busy_workers_of(client) and time.monotonic() < until:
            pass
        client.close()
    codes = [result.error and result.error.code for result in answer.result().results]
    assert codes == ["worker_lost"] * 3
    assert not any(Path(f"/proc/{pid}").exists() for pid in processes)
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.score([])


SCRIPT = """
import os
from verifier_service.local import LocalClient

print("main runs", flush=True)
judge = LocalClient(1)
print(judge.score([{"completion": r"\\boxed{5}", "gold": "5"}]).rewards, *judge._pool.pids, flush=True)
"""


def test_a_script_needs_no_guard_and_may_forget_to_close(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    first, second = done.stdout.splitlines()
    rewards, *pids = second.split()
    assert (first, rewards, done.stderr) == ("main runs", "[1.0]", "")
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
