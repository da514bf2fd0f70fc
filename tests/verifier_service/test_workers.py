"""The pool under faults. Each fault test counts every call that it sent: one outcome, at its own place."""

import asyncio
import errno
import gc
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from verifier_service.workers import (
    Call,
    Done,
    Failed,
    Outcome,
    PoolStartError,
    WorkerPool,
    handle,
    spawner,
)
from verifier_service.workers.batch import Batch
from verifier_service.workers.forkserver import YIELDING
from verifier_service.workers.wire import INBOX_BYTES

FAKE = "tests.verifier_service.fake_judge"
ITEM_CPU_S = 0.3
GONE_S = 10.0

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and needs a parent-death signal")


def call(*args: Any) -> Call:
    return Call("score", args)


def in_pool(body: Callable[[WorkerPool], Awaitable[Any]], size: int = 2, **settings: Any) -> Any:
    """Runs the body with a started pool, then checks that close() left neither a process nor a descriptor."""
    settings = dict[str, Any](item_cpu_s=ITEM_CPU_S, item_wall_s=2.0, preload=(FAKE,)) | settings

    async def started() -> tuple[Any, list[int]]:
        pool = WorkerPool(size, **settings)
        await pool.start()
        try:
            return await body(pool), pool.pids
        finally:
            pids = pool.pids
            await pool.close()
            assert not any(Path(f"/proc/{pid}").exists() for pid in pids)

    descriptors = open_descriptors()
    result, _ = asyncio.run(started())
    assert open_descriptors() == descriptors
    return result


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def outcomes_beside(poison: Call, **settings: Any) -> tuple[Outcome, dict[str, int]]:
    """One bad call among 79 good ones: what became of it, if every good one came back at its own place."""

    async def body(pool: WorkerPool) -> tuple[Outcome, dict[str, int]]:
        calls = [call("echo", place) for place in range(80)]
        calls[37] = poison
        outcomes = await pool.run(calls)
        assert len(outcomes) == len(calls)
        good = [outcome for place, outcome in enumerate(outcomes) if place != 37]
        assert good == [Done(place) for place in range(80) if place != 37]
        return outcomes[37], dict(pool.stats.kills)

    result: tuple[Outcome, dict[str, int]] = in_pool(body, **settings)
    return result


def test_a_worker_with_a_heavy_call_yields_to_the_others_and_is_not_used_again() -> None:
    async def body(pool: WorkerPool) -> tuple[set[int], set[int]]:
        heavy = asyncio.ensure_future(pool.run([call("work_for", 0.2)]))
        niceness: set[int] = set()
        while not heavy.done():
            niceness |= {os.getpriority(os.PRIO_PROCESS, pid) for pid in pool.pids}
            await asyncio.sleep(0.005)
        assert await heavy == [Done(0.2)]
        after = {
            os.getpriority(os.PRIO_PROCESS, outcome.value) for outcome in await pool.run([call("pid")] * 8)
        }
        return niceness, after

    own = os.getpriority(os.PRIO_PROCESS, 0)
    while_heavy, after = in_pool(body)
    assert while_heavy == {own, min(19, own + YIELDING)}
    assert after == {own}


@pytest.mark.parametrize("size", [100, INBOX_BYTES // 2, 3 * INBOX_BYTES])
def test_calls_of_any_size_arrive_whole(size: int) -> None:
    async def body(pool: WorkerPool) -> list[Outcome]:
        return await pool.run([call("echo", f"{place}{'ä' * size}") for place in range(3)])

    assert in_pool(body, size=1) == [Done(f"{place}{'ä' * size}") for place in range(3)]


def code_of(outcome: Outcome) -> str:
    assert isinstance(outcome, Failed)
    return outcome.code


@pytest.mark.parametrize(
    "deed, code, reason",
    [
        ("spin", "answer_timeout", "cpu"),
        ("spin_in_c", "answer_timeout", "cpu"),
        ("bomb", "answer_timeout", "memory"),
        ("recurse", "answer_timeout", "memory"),
        ("abort", "worker_lost", "SIGABRT"),
        ("kill_self", "worker_lost", "SIGKILL"),
        ("exit", "worker_lost", "exit 0"),
    ],
)
def test_a_call_that_takes_its_worker_down_fails_alone_after_three_runs(
    deed: str, code: str, reason: str
) -> None:
    outcome, kills = outcomes_beside(call(deed))
    assert code_of(outcome) == code
    assert kills[reason] == 3


def test_a_hang_that_uses_no_cpu_ends_by_the_clock_on_the_wall() -> None:
    outcome, kills = outcomes_beside(call("sleep_in_c"), item_wall_s=0.3)
    assert code_of(outcome) == "answer_timeout"
    assert kills["wall"] == 3


@pytest.mark.parametrize("poison", ["spin_on_slow_path", "die_on_slow_path"])
def test_the_third_run_is_told_to_keep_off_the_slow_path(poison: str) -> None:
    outcome, kills = outcomes_beside(call(poison))
    assert outcome == Done("fast")
    assert sum(kills.values()) == 2


@pytest.mark.parametrize("deed", ["spin", "kill_self", "bomb", "abort"])
def test_a_call_that_fails_once_gets_its_value_on_the_second_run(deed: str, tmp_path: Path) -> None:
    outcome, kills = outcomes_beside(call("once", str(tmp_path / "marker"), deed))
    assert outcome == Done("second time")
    assert sum(kills.values()) == 1


FORBIDDEN = [
    ("fork", ()),
    ("system", ()),
    ("popen", ()),
    ("exec", ()),
    ("spawn", ()),
    ("kill_parent", ()),
    ("ask_for_a_name", ()),
    ("connect", ()),
    ("connect_to_a_socket_file", ()),
    ("write", ("FILE",)),
    ("append", ("FILE",)),
    ("remove", ("FILE",)),
]


@pytest.mark.parametrize("deed, args", FORBIDDEN)
def test_a_worker_starts_no_process_opens_no_connection_and_writes_no_file(
    deed: str, args: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("as it was")
    outcome, kills = outcomes_beside(call(deed, *(str(file) for _ in args)))
    assert isinstance(outcome, Failed)
    assert outcome.code == "internal"
    assert outcome.message.startswith("PermissionError at ")
    assert ": a worker may not " in outcome.message
    assert not kills
    assert file.read_text() == "as it was"


def test_a_worker_reads_files_and_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("data of a reward")
    monkeypatch.setenv("VERIFIER_API_KEY", "hush")
    monkeypatch.setenv("OTHER", "kept")

    async def body(pool: WorkerPool) -> list[Outcome]:
        return await pool.run(
            [call("read", str(file)), call("environ", "VERIFIER_API_KEY"), call("environ", "OTHER")]
        )

    assert in_pool(body) == [Done("data of a reward"), Done(None), Done("kept")]


AS_NOBODY = """
import ctypes, os
from verifier_service.workers.confinement import forbid
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
forbid()
libc = ctypes.CDLL(None, use_errno=True)
pid = libc.fork()
if pid == 0:
    os._exit(0)
print(pid, os.strerror(ctypes.get_errno()))
"""


def test_for_a_user_without_rights_not_even_code_in_c_starts_a_process() -> None:
    ended = subprocess.run([sys.executable, "-c", AS_NOBODY], capture_output=True, text=True, timeout=60)
    assert ended.stdout.strip() == "-1 Resource temporarily unavailable", ended.stderr


@pytest.mark.parametrize("deed", ["raise", "unsendable"])
def test_an_exception_in_the_judge_is_internal_and_costs_no_worker(deed: str) -> None:
    outcome, kills = outcomes_beside(call(deed))
    assert code_of(outcome) == "internal"
    assert kills == {}


def test_a_call_that_cannot_be_pickled_fails_alone() -> None:
    outcome, kills = outcomes_beside(call("echo", lambda: None))
    assert code_of(outcome) == "internal"
    assert kills == {}


def test_every_call_of_a_chunk_may_be_bad() -> None:
    deeds = ["abort", "spin", "raise", "bomb", "kill_self"] * 3

    async def body(pool: WorkerPool) -> list[Outcome]:
        return await pool.run([call(deed) for deed in deeds])

    codes = {
        "abort": "worker_lost",
        "spin": "answer_timeout",
        "raise": "internal",
        "bomb": "answer_timeout",
        "kill_self": "worker_lost",
    }
    outcomes = in_pool(body, item_cpu_s=0.1)
    assert [code_of(outcome) for outcome in outcomes] == [codes[deed] for deed in deeds]


def test_a_poisoned_batch_does_not_hold_up_a_good_one() -> None:
    async def body(pool: WorkerPool) -> None:
        poisoned = asyncio.ensure_future(pool.run([call("spin")] * 64))
        good = await asyncio.gather(*(pool.run([call("echo", place)] * 64) for place in range(4)))
        assert good == [[Done(place)] * 64 for place in range(4)]
        assert not poisoned.done()
        assert pool.stats.kills.get("evicted", 0) > 0
        poisoned.cancel()

    in_pool(body, size=1, item_cpu_s=0.5)


def test_heavy_calls_that_end_in_time_are_not_disturbed_where_nobody_waits() -> None:
    async def body(pool: WorkerPool) -> None:
        assert await pool.run([call("work_for", 0.12)] * 2) == [Done(0.12)] * 2
        assert pool.stats.kills == {}

    in_pool(body)


def test_heavy_calls_all_end_beside_quick_ones() -> None:
    async def body(pool: WorkerPool) -> None:
        calls = [call("work_for", 0.1) if place % 16 == 5 else call("echo", place) for place in range(96)]
        wanted = [Done(0.1) if place % 16 == 5 else Done(place) for place in range(96)]
        assert await pool.run(calls) == wanted

    in_pool(body)


def test_at_the_deadline_what_ran_and_what_waited_are_told_apart() -> None:
    async def body(pool: WorkerPool) -> None:
        calls = [call("sleep_in_c"), *(call("sleep_in_c") for _ in range(9))]
        outcomes = await pool.run(calls, deadline=time.monotonic() + 0.5)
        codes = [code_of(outcome) for outcome in outcomes]
        assert codes.count("deadline") == 1
        assert codes.count("queue_timeout") == 9
        assert await pool.run([call("echo", 1)]) == [Done(1)]
        assert pool.stats.kills == {"abandoned": 1}

    in_pool(body, size=1, item_wall_s=20.0)


def test_finished_calls_stand_when_the_deadline_strikes() -> None:
    async def body(pool: WorkerPool) -> None:
        calls = [*(call("work_for", 0.004) for _ in range(8)), call("sleep_in_c")]
        outcomes = await pool.run(calls, deadline=time.monotonic() + 2.0)
        assert outcomes[:-1] == [Done(0.004)] * 8
        assert code_of(outcomes[-1]) == "deadline"

    in_pool(body, size=1, item_wall_s=20.0)


def test_a_deadline_in_the_past_starts_nothing() -> None:
    async def body(pool: WorkerPool) -> None:
        outcomes = await pool.run([call("echo", 1)] * 3, deadline=time.monotonic() - 1)
        assert [code_of(outcome) for outcome in outcomes] == ["queue_timeout"] * 3

    in_pool(body)


def test_a_cancelled_batch_is_abandoned_and_the_pool_goes_on() -> None:
    async def body(pool: WorkerPool) -> None:
        batch = asyncio.ensure_future(pool.run([call("spin")] * 40))
        assert await pool.run([call("echo", 1)]) == [Done(1)]
        batch.cancel()
        assert await pool.run([call("echo", 2)] * 40) == [Done(2)] * 40
        assert pool.stats.queued == 0

    in_pool(body)


def test_many_batches_at_once_keep_their_own_outcomes() -> None:
    async def body(pool: WorkerPool) -> None:
        batches = [[call("echo", (batch, place)) for place in range(batch % 40)] for batch in range(120)]
        results = await asyncio.gather(*map(pool.run, batches))
        wanted = [[Done((batch, place)) for place in range(batch % 40)] for batch in range(120)]
        assert results == wanted

    in_pool(body)


def test_equal_batches_are_done_in_the_order_in_which_they_came() -> None:
    async def body(pool: WorkerPool) -> None:
        done: list[int] = []

        async def one(number: int) -> None:
            await pool.run([call("work_for", 0.001)] * 32)
            done.append(number)

        await asyncio.gather(*(one(number) for number in range(20)))
        # Two workers finish chunks of neighbouring batches in any order.
        assert all(abs(place - number) <= 2 for place, number in enumerate(done)), done

    in_pool(body)


def test_a_single_call_does_not_wait_for_a_large_batch() -> None:
    async def body(pool: WorkerPool) -> None:
        large = asyncio.ensure_future(pool.run([call("work_for", 0.001)] * 3000))
        await pool.run([call("echo", 0)])
        for number in range(5):
            assert await pool.run([call("echo", number)]) == [Done(number)]
        assert not large.done()
        large.cancel()

    in_pool(body)


def test_payloads_larger_than_any_pipe_arrive_whole() -> None:
    async def body(pool: WorkerPool) -> None:
        texts = [chr(0x4E00 + place) * 1_000_000 for place in range(6)]
        assert await pool.run([call("echo", text) for text in texts]) == [Done(text) for text in texts]

    in_pool(body)


def test_lone_surrogates_survive_the_passage() -> None:
    async def body(pool: WorkerPool) -> None:
        assert await pool.run([call("echo", "a\ud800b")]) == [Done("a\ud800b")]

    in_pool(body)


def test_an_empty_batch_is_no_work() -> None:
    async def body(pool: WorkerPool) -> None:
        assert await pool.run([]) == []

    in_pool(body)


def test_killed_idle_workers_are_replaced() -> None:
    async def body(pool: WorkerPool) -> None:
        server, *workers = pool.pids
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        assert await pool.run([call("echo", place) for place in range(40)]) == list(map(Done, range(40)))
        assert pool.pids[0] == server
        assert not set(workers) & set(pool.pids)

    in_pool(body)


def test_a_lost_fork_server_is_replaced_and_no_call_is_lost() -> None:
    async def body(pool: WorkerPool) -> None:
        old = pool.pids
        calls = [call("work_for", 0.002) for _ in range(200)]
        batch = asyncio.ensure_future(pool.run(calls))
        await pool.run([call("echo", 1)])
        os.kill(old[0], signal.SIGKILL)
        assert await batch == [Done(0.002)] * 200
        assert not set(old) & set(pool.pids)
        assert processes_end(old)

    in_pool(body)


def test_a_fork_server_that_is_stopped_is_replaced_and_no_call_is_lost() -> None:
    async def body(pool: WorkerPool) -> None:
        old = pool.pids
        os.kill(old[0], signal.SIGSTOP)
        calls = [call("echo", place) for place in range(60)]
        calls[30] = call("spin")  # nobody ends it before there is a new fork server
        outcomes = await pool.run(calls)
        assert code_of(outcomes[30]) == "answer_timeout"
        assert [outcome for outcome in outcomes if isinstance(outcome, Done)] == [
            Done(place) for place in range(60) if place != 30
        ]
        assert not set(old) & set(pool.pids)
        assert processes_end(old)

    in_pool(body)


def test_a_worker_that_is_stopped_is_replaced_and_no_call_is_lost() -> None:
    async def body(pool: WorkerPool) -> None:
        server, *workers = pool.pids
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        assert await pool.run([call("echo", place) for place in range(40)]) == list(map(Done, range(40)))
        assert pool.stats.kills["stuck"] > 0
        assert pool.pids[0] == server

    in_pool(body)


def test_a_fork_server_that_cannot_be_started_again_is_tried_until_it_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def body(pool: WorkerPool) -> None:
        refused = 0

        def refuse(*_: Any) -> Any:
            nonlocal refused
            refused += 1
            if refused == 3:
                monkeypatch.undo()
            raise OSError("no process can be started")

        monkeypatch.setattr(spawner, "_launched", refuse)
        os.kill(pool.pids[0], signal.SIGKILL)
        outcomes = await pool.run([call("echo", 1)] * 10)
        while refused < 3 or not pool.stats.ready:
            outcomes += await pool.run([call("echo", 1)])
        assert set(outcomes) == {Done(1)}
        assert refused == 3

    in_pool(body)


def test_without_a_descriptor_left_calls_wait_until_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(pool: WorkerPool) -> None:
        refused = 0

        def refuse() -> int:
            nonlocal refused
            refused += 1
            if refused == 3:
                monkeypatch.undo()
            raise OSError(errno.EMFILE, "Too many open files")

        monkeypatch.setattr(handle, "new_page_fd", refuse)
        for pid in pool.pids[1:]:
            os.kill(pid, signal.SIGKILL)
        while refused < 3:
            assert await pool.run([call("echo", place) for place in range(40)]) == list(map(Done, range(40)))
        assert await pool.run([call("echo", 1)]) == [Done(1)]

    in_pool(body)


def test_the_backlog_is_told_in_seconds_and_what_is_heavy_is_seen_to_be() -> None:
    async def body(pool: WorkerPool) -> None:
        assert pool.backlog_s == 0
        await pool.run([call("work_for", 0.005)] * 300)
        assert pool.backlog_s == 0
        batch = asyncio.ensure_future(pool.run([call("work_for", 0.005)] * 400))
        await asyncio.sleep(0)
        assert 0.5 < pool.backlog_s < 10  # a second, on two workers that have a core each
        batch.cancel()

    in_pool(body)


def test_closing_fails_what_is_unfinished() -> None:
    async def body(pool: WorkerPool) -> list[Outcome]:
        batch = asyncio.ensure_future(pool.run([call("spin"), call("echo", 1)]))
        await pool.run([call("echo", 2)])
        await pool.close()
        assert await pool.run([call("echo", 3)]) == [Failed("worker_lost", "the pool is not running")]
        return await batch

    outcomes = in_pool(body, size=1)
    assert code_of(outcomes[0]) == "worker_lost"


def test_a_pool_closed_while_its_start_is_given_up_is_closed_once() -> None:
    async def given_up() -> None:
        pool = WorkerPool(1, preload=(FAKE,))
        starting = asyncio.ensure_future(pool.start())
        await asyncio.sleep(0)
        starting.cancel()
        started, closed = await asyncio.gather(starting, pool.close(), return_exceptions=True)
        assert isinstance(started, asyncio.CancelledError)
        assert closed is None

    asyncio.run(given_up())


def test_a_worker_is_replaced_after_its_number_of_calls() -> None:
    async def body(pool: WorkerPool) -> None:
        seen = set()
        for _ in range(12):
            seen |= {str(outcome) for outcome in await pool.run([call("pid")] * 10)}
        assert len(seen) > 3
        assert pool.stats.recycled > 0
        assert pool.stats.kills == {}

    in_pool(body, size=1, recycle_after=20)


def test_a_worker_that_grows_is_replaced() -> None:
    async def body(pool: WorkerPool) -> None:
        assert await pool.run([call("grow", 200)]) == [Done(1)]
        assert await pool.run([call("grow", 1)]) == [Done(1)]
        assert pool.stats.recycled == 1

    in_pool(body, size=1, memory_mb=600)


def test_memory_is_limited_in_the_workers_only() -> None:
    async def body(pool: WorkerPool) -> None:
        [outcome] = await pool.run([call("grow", 2000)])
        assert code_of(outcome) == "answer_timeout"
        assert await pool.run([call("grow", 20)]) == [Done(1)]

    in_pool(body, memory_mb=512)


def test_workers_run_one_thread_with_a_fixed_hash_seed() -> None:
    async def body(pool: WorkerPool) -> list[Outcome]:
        return await pool.run([call("environ", name) for name in ("OPENBLAS_NUM_THREADS", "PYTHONHASHSEED")])

    assert in_pool(body) == [Done("1"), Done("0")]


def test_a_judge_that_cannot_be_imported_says_so_at_the_start() -> None:
    with pytest.raises(PoolStartError, match="no_such_judge"):
        in_pool(lambda pool: pool.run([]), preload=("no_such_judge",))


def test_a_pool_without_workers_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        WorkerPool(0)


SCRIPT = """
import asyncio, os, signal, sys
from verifier_service.workers import Call, WorkerPool
print("main runs", flush=True)

async def main():
    pool = WorkerPool(2, preload=("tests.verifier_service.fake_judge",))
    await pool.start()
    batch = asyncio.ensure_future(pool.run([Call("score", ("sleep_in_c",))] * 2))
    [done] = await pool.run([Call("score", ("main",))])
    print(repr(done.value), *pool.pids, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def test_workers_die_with_their_parent_and_never_import_its_main_module(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    first, second = done.stdout.splitlines()
    main, *pids = second.split()
    assert done.returncode == -signal.SIGKILL
    assert first == "main runs"
    assert str(script) not in main
    assert processes_end(map(int, pids))


def processes_end(pids: Iterable[int]) -> bool:
    """Waits, on the kernel's own notice, until none of the processes runs."""
    until = time.monotonic() + GONE_S
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            ready, _, _ = select.select([fd], [], [], max(0.0, until - time.monotonic()))
        finally:
            os.close(fd)
        if not ready:
            return False
    return True


def alive(*kinds: type) -> int:
    return sum(type(one) in kinds for one in gc.get_objects())


def test_a_run_that_is_over_leaves_nothing_to_the_collector_of_cycles() -> None:
    """Its texts are megabytes: they go with the last word of the run, not some day."""

    async def body(pool: WorkerPool) -> int:
        gc.collect()
        await pool.run([call("echo", "x" * 1000)] * 70)
        await pool.run([call("fail")] * 3 + [call("sleep_in_c")], deadline=time.monotonic() + 0.1)
        abandoned = asyncio.ensure_future(pool.run([call("sleep_in_c")]))
        await asyncio.sleep(0.1)
        abandoned.cancel()
        await asyncio.wait([abandoned])
        del abandoned
        end = time.monotonic() + GONE_S
        while (
            left := alive(Batch, Call)
        ) and time.monotonic() < end:  # the workers that slept are ended soon
            await asyncio.sleep(0.05)
        return left

    gc.disable()
    try:
        assert in_pool(body) == 0
    finally:
        gc.enable()
