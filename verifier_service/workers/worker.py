"""A worker process: takes chunks of calls, says on its page which one it is at, streams the results.

It sets no timers and catches no signals. The parent watches it and kills it.
"""

import ctypes
import os
import resource
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from verifier_service.workers.wire import Page, framed, read_frame

# Results of less work than this may wait to share a message; if the worker is killed they are done again.
FLUSH_NS = 10_000_000
MB = 1 << 20
# What a worker may always allocate on top of what the fork server has loaded, however low the limit is set.
LEAST_HEADROOM_MB = 256
PR_SET_PDEATHSIG = 1
OOM_SCORE = "500"
DEEPEST_FRAMES = 4

# How a call ended. HEAVY: out of memory or stack, which is the answer's weight and not a fault of ours.
OK, HEAVY, RAISED = range(3)
Ended = tuple[int, int, Any]
# (results, whether the worker now waits for a chunk); the first report says that the worker is ready.
Report = tuple[list[Ended], bool]
# (number of the chunk, [(number of the call, kind, args, slow_path), ...])
Chunk = tuple[int, list[tuple[int, str, tuple[Any, ...], bool]]]


class Judge(Protocol):
    """What the pool wants of the module that it runs."""

    def perform(self, kind: str, args: tuple[Any, ...], slow_path: bool) -> object: ...

    def warm_up(self) -> None:
        """Runs once in the fork server, so that workers are born with caches and models loaded."""


def serve(sock: socket.socket, page: Page, judge: Judge) -> None:
    """Works off chunks until the parent closes the socket."""
    with suppress(EOFError, ConnectionError):
        sock.sendall(framed(([], True)))
        while True:
            number, calls = read_frame(sock, page.inbox)
            _work_off(number, calls, sock, page, judge)


def _work_off(
    number: int,
    calls: list[tuple[int, str, tuple[Any, ...], bool]],
    sock: socket.socket,
    page: Page,
    judge: Judge,
) -> None:
    results: list[Ended] = []
    flushed = time.monotonic_ns()
    for seq, kind, args, slow_path in calls:
        if page.revoked == number:
            break
        if results and time.monotonic_ns() - flushed > FLUSH_NS:
            sock.sendall(_report(results, False))
            results, flushed = [], time.monotonic_ns()
        page.begin(seq)
        results.append((seq, *_performed(judge, kind, args, slow_path)))
    page.rest()
    sock.sendall(_report(results, True))


def _performed(judge: Judge, kind: str, args: tuple[Any, ...], slow_path: bool) -> tuple[int, Any]:
    try:
        return OK, judge.perform(kind, args, slow_path)
    except (MemoryError, RecursionError) as error:
        return HEAVY, type(error).__name__
    except Exception as error:  # noqa: BLE001  a fault of the judge: reported as one, never a verdict
        return RAISED, _described(error)


def _report(results: list[Ended], resting: bool) -> memoryview:
    try:
        return framed((results, resting))
    except Exception:  # noqa: BLE001  one value cannot be sent: find it, and let the others go
        return framed(([_sendable(ended) for ended in results], resting))


def _sendable(ended: Ended) -> Ended:
    seq, how, value = ended
    try:
        framed(value)
    except MemoryError as error:
        return seq, HEAVY, type(error).__name__
    except Exception as error:  # noqa: BLE001
        return seq, RAISED, f"its result cannot be sent: {_described(error)}"
    return seq, how, value


def _described(error: BaseException) -> str:
    """The error and its innermost frames; what it says comes last, since it may be words of a completion."""
    frames = traceback.extract_tb(error.__traceback__)[-DEEPEST_FRAMES:]
    where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
    text = str(error)[:300].encode("utf-8", "replace").decode()
    return f"{type(error).__name__} at {where}: {text}"


def confine(memory_mb: int, parent: int) -> None:
    """Limits of a process that reads hostile text; called once, just after the fork."""
    _die_with(parent)
    if loaded := _address_space_mb():
        limit = max(memory_mb, loaded + LEAST_HEADROOM_MB) * MB
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):  # out of memory in the container: a worker goes first, never the server
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(0)


def _address_space_mb() -> int | None:
    """Megabytes of address space now in use, None where the system does not say."""
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return pages * resource.getpagesize() // MB
    return None
