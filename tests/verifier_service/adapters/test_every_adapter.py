"""Every adapter against a real service: right rewards in the right order, and its rule where there are none."""

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.services import STOP_S, free_port, wait_until_ready
from tests.verifier_service.adapters import calls
from tests.verifier_service.adapters.calls import NEEDS, RULES, Call, Sample
from tests.verifier_service.server.processes import COMMAND, Served, environment
from verifier_service.adapters import common
from verifier_service.adapters.common import NoVerdict, TooManyErrors

EVERY = pytest.mark.parametrize("call", list(RULES), ids=lambda call: call.__name__)


@pytest.fixture(autouse=True)
def _import_needed(request: pytest.FixtureRequest) -> None:
    call = request.node.callspec.params.get("call") if hasattr(request.node, "callspec") else None
    if call in NEEDS:
        pytest.importorskip(NEEDS[call])


def mixed(count: int, seed: int) -> tuple[list[Sample], list[float]]:
    """Samples right and wrong in no order, in several ways of writing."""
    random = Random(seed)
    samples, expected = [], []
    for _ in range(count):
        a, b = random.randint(2, 99), random.randint(2, 99)
        right = random.random() < 0.5
        shown = a * b if right else a * b + random.randint(1, 9)
        form = random.choice(
            [r"So \boxed{{{}}}.", r"<think>hm</think>\boxed{{{}}}", r"\boxed{{\frac{{{}}}{{1}}}}"]
        )
        samples.append(Sample(f"What is {a} times {b}?", form.format(shown), str(a * b)))
        expected.append(float(right))
    return samples, expected


@EVERY
def test_the_rewards_are_right_and_in_order(call: Call, service: Served) -> None:
    samples, expected = mixed(64, seed=len(call.__name__))
    assert 16 < sum(expected) < 48
    assert call(samples) == expected


def short_budgets(monkeypatch: pytest.MonkeyPatch, budget_s: float) -> None:
    """Every adapter with this budget, whatever its own."""
    made = common.Remote.__init__

    def init(self: common.Remote, *args: Any, **options: Any) -> None:
        made(self, *args, **{**options, "budget_s": budget_s})

    monkeypatch.setattr(common.Remote, "__init__", init)
    common._made.cache_clear()


def follows_its_rule(call: Call, samples: list[Sample]) -> None:
    rule = RULES[call]
    if rule == "raise":
        with pytest.raises(NoVerdict):
            call(samples)
    else:
        assert call(samples) == [rule] * len(samples)


@contextmanager
def dropping() -> Iterator[str]:
    """A service that is killed in mid call: it takes a request and is gone, connection and all."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        # The first call is cut off in the middle; from then on nobody listens.
        connection, _ = listener.accept()
        listener.close()
        connection.recv(64)
        connection.close()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    thread.join()


@EVERY
def test_a_service_that_dies_in_mid_call_leaves_the_declared_rule(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    short_budgets(monkeypatch, 0.4)
    with dropping() as url:
        monkeypatch.setenv("VERIFIER_URL", url)
        began = time.monotonic()
        follows_its_rule(call, mixed(2, seed=1)[0])
        # Two samples, one after the other in some adapters.
        assert time.monotonic() - began < 2 * 0.4 + 1


@EVERY
def test_a_service_that_never_answers_is_left_within_the_budget(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    short_budgets(monkeypatch, 0.3)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        monkeypatch.setenv("VERIFIER_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        follows_its_rule(call, mixed(2, seed=1)[0])
        assert time.monotonic() - began < 2 * 0.3 + 1


class Gate:
    """Stands before a service and turns the first calls away."""

    def __init__(self, behind: str, status: int, times: int) -> None:
        self.behind, self.status, self.left = behind, status, times
        self.turned_away_at: list[float] = []
        self.let_in_at: list[float] = []


@contextmanager
def gated(gate: Gate) -> Iterator[str]:
    import httpx

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if gate.left > 0:
                gate.left -= 1
                gate.turned_away_at.append(time.monotonic())
                self._reply(gate.status, b"{}", ("Retry-After", "1"))
                return
            gate.let_in_at.append(time.monotonic())
            url = gate.behind + self.path
            found = httpx.post(url, content=body, headers={"content-type": "application/json"})
            self._reply(found.status_code, found.content)

        def _reply(self, status: int, content: bytes, *headers: tuple[str, str]) -> None:
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("call", "status"),
    [*((call, 429) for call in RULES), (calls.trl, 503), (calls.verl, 503)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_full_service_is_asked_again_when_it_says(
    call: Call, status: int, service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, expected = mixed(2, seed=2)
    gate = Gate(service.url, status, times=1)
    with gated(gate) as url:
        monkeypatch.setenv("VERIFIER_URL", url)
        assert call(samples) == expected
    assert len(gate.turned_away_at) == 1
    assert max(gate.let_in_at) - gate.turned_away_at[0] >= 1


@contextmanager
def served_at(port: int, log: Path) -> Iterator[Served]:
    env = environment(port=str(port), workers="1")
    with (
        log.open("wb") as output,
        subprocess.Popen(COMMAND, env=env, stdout=output, stderr=output) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_ready(process, url, log)
            yield Served(url, process, log)
        finally:
            process.terminate()
            process.wait(STOP_S)


@pytest.mark.parametrize("call", [calls.verl, calls.areal], ids=lambda call: call.__name__)
def test_a_killed_service_that_comes_back_costs_nothing(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills a real one while calls are under way, and starts it again at the same address."""
    samples, expected = mixed(64, seed=3)
    with served_at(free_port(), tmp_path / "first") as first:
        monkeypatch.setenv("VERIFIER_URL", first.url)
        rewards: list[Any] = []
        thread = threading.Thread(target=lambda: rewards.extend(call(samples)))
        thread.start()
        first.process.kill()
        first.process.wait()
        with served_at(int(first.url.rpartition(":")[2]), tmp_path / "second"):
            thread.join()
    assert rewards == expected


@EVERY
def test_too_many_errors_stop_the_run(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the rule of the adapter is; those that make an object for each run have their counts there."""
    made: list[common.Remote] = []
    first_made = common.Remote.__init__

    def init(self: common.Remote, *args: Any, **options: Any) -> None:
        first_made(self, *args, **{**options, "budget_s": 0.02, "max_error_rate": 0.5})
        made.append(self)

    monkeypatch.setattr(common.Remote, "__init__", init)
    book = common._Book()
    monkeypatch.setattr(common.Remote, "_book", lambda self: book)
    monkeypatch.setenv("VERIFIER_URL", "http://127.0.0.1:1")
    common._made.cache_clear()
    samples = mixed(16, seed=1)[0]
    for _ in range(200):
        try:
            rewards = call(samples)
        except NoVerdict:
            assert RULES[call] == "raise"
        except TooManyErrors:
            break
        else:
            assert rewards == [RULES[call]] * 16
    else:
        pytest.fail("not stopped")
    assert 128 <= made[0].counts.no_verdict == made[0].counts.items <= 128 + 16
    assert made[0].counts.codes.total() == made[0].counts.items


@pytest.mark.parametrize("rule", ["ignore", "0", float("nan"), float("inf"), [0]])
def test_a_rule_that_is_none_is_said_at_once(rule: Any) -> None:
    with pytest.raises(ValueError, match="on_no_verdict is"):
        common.Remote("http://judge", on_no_verdict=rule)


def test_the_error_rate_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIFIER_MAX_ERROR_RATE", "0.25")
    assert common.Remote("http://judge", on_no_verdict=None).max_error_rate == 0.25
    assert common.Remote("http://judge", on_no_verdict=None, max_error_rate=1).max_error_rate == 1
    monkeypatch.setenv("VERIFIER_MAX_ERROR_RATE", "50%")
    with pytest.raises(ValueError, match="VERIFIER_MAX_ERROR_RATE is a number from 0 to 1, not '50%'"):
        common.Remote("http://judge", on_no_verdict=None)


def test_one_lost_step_is_told_by_the_rule_and_a_second_one_stops_the_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    short_budgets(monkeypatch, 0.2)
    from verifier_service.adapters.for_trl import reward_function

    function = reward_function("http://127.0.0.1:1")
    batch: dict[str, Any] = {"prompts": ["?"] * 600, "completions": ["!"] * 600, "answer": ["1"] * 600}
    assert function(**batch) == [None] * 600
    assert "no verdict for 600 of 600 items so far (unreachable 600); each counts as: None" in caplog.text
    with pytest.raises(TooManyErrors, match=r"100% of the last items .*unreachable 1200"):
        function(**batch)
    assert caplog.records[-1].levelname == "ERROR"
    assert (function.remote.counts.items, function.remote.counts.no_verdict) == (1200, 1200)
