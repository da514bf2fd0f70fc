"""The parent's view of one worker: its socket, its page, what it has been given."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from verifier_service.workers.batch import Task
from verifier_service.workers.wire import IN_THE_INBOX, Frames, Page, Running, framed, new_page_fd
from verifier_service.workers.worker import Ended, Report

READ_BYTES = 262144
SOCKET_BUFFER = 1 << 20
NS = 1_000_000_000
_PER_TICK_NS = NS // os.sysconf("SC_CLK_TCK")
_PER_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)

OnReport = Callable[["Worker", list[Ended], bool], None]
OnEnd = Callable[["Worker"], None]


class Worker:
    """A worker as the pool sees it. The pool sets the public fields; this class only does the talking.

    Raises OSError where this process may open no more descriptors.
    """

    def __init__(self, number: int, on_report: OnReport, on_end: OnEnd) -> None:
        self.number = number
        self.pid = 0  # not born yet
        self.ready = False
        self.tasks: dict[int, Task] = {}  # given and not yet answered, in order
        self.chunk = 0  # the number of the chunk in hand, 0 while it rests
        self.given = 0  # how many calls the chunk has
        self.sent_ns = 0
        self.served = 0
        self.slow = False  # it sits on a heavy answer and does not count as one of the brisk ones
        self.doom = ""  # why it is being killed
        self.retiring = False
        self.seen = Running(0, 0, 0)  # what its page said at the last look
        self.rss_at_birth_mb = 0.0
        self.next_rss_check = 0
        self._on_report = on_report
        self._on_end = on_end
        self._ended = False
        self._loop = asyncio.get_running_loop()
        self._frames = Frames()
        self._unsent: list[memoryview] = []
        self._page_fd = new_page_fd()
        try:
            self._sock, self._theirs = socket.socketpair()
        except OSError:
            os.close(self._page_fd)
            raise
        for end in (self._sock, self._theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER)
        self._sock.setblocking(False)
        self.page = Page(self._page_fd)
        self._loop.add_reader(self._sock.fileno(), self._readable)

    @property
    def idle(self) -> bool:
        return self.ready and not (self.chunk or self.doom or self.retiring)

    @property
    def brisk(self) -> bool:
        """Counts towards the pool's size: alive or about to be, and not held up by one heavy answer."""
        return not (self.slow or self.doom or self.retiring)

    def hand_over(self, bear: Callable[[int, int, int], None]) -> None:
        """Gives the worker's ends of socket and page to the fork server."""
        bear(self.number, self._theirs.fileno(), self._page_fd)
        self._theirs.close()
        os.close(self._page_fd)

    def give(self, chunk: int, tasks: dict[int, Task]) -> None:
        """Sends a chunk. Raises what pickle raises where a call cannot be sent; nothing is sent then."""
        message = framed((chunk, [(seq, *task.order) for seq, task in tasks.items()]))
        self.chunk, self.tasks, self.given = chunk, tasks, len(tasks)
        self.sent_ns = time.monotonic_ns()
        self._send(memoryview(IN_THE_INBOX) if self.page.lay_in(message) else message)

    def dismiss(self) -> None:
        """Lets an idle worker end by itself."""
        self.retiring = True
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def current(self) -> Task | None:
        """The unanswered call that it is at, or is next to take up."""
        return self.tasks.get(self.page.running.seq) or next(iter(self.tasks.values()), None)

    def cpu_ns(self) -> int | None:
        """CPU time of the process so far, None where the system does not say."""
        with suppress(OSError):
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) * _PER_TICK_NS
        return None

    def rss_mb(self) -> float:
        with suppress(OSError):
            return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * _PER_PAGE_MB
        return 0.0

    def drain(self) -> None:
        """Reads what a dead worker has left in its socket: those results stand."""
        while self._read():
            pass

    def close(self) -> None:
        self._loop.remove_reader(self._sock.fileno())
        self._loop.remove_writer(self._sock.fileno())
        self._sock.close()
        self.page.close()
        self.tasks = {}

    def _send(self, message: memoryview) -> None:
        try:
            sent = self._sock.send(message)
        except BlockingIOError:
            sent = 0
        except OSError:  # it is dead: the fork server will say so, and its calls go to others
            return
        if sent < len(message):
            self._unsent.append(message[sent:])
            self._loop.add_writer(self._sock.fileno(), self._writable)

    def _writable(self) -> None:
        self._loop.remove_writer(self._sock.fileno())
        if self._unsent:
            self._send(self._unsent.pop(0))

    def _readable(self) -> None:
        self._read()
        if self._ended:
            self._loop.remove_reader(self._sock.fileno())
            self._on_end(self)

    def _read(self) -> bool:
        """One read; whether there may be more."""
        try:
            data = self._sock.recv(READ_BYTES)
            reports: list[Report] = self._frames.feed(data)
        except BlockingIOError:
            return False
        except Exception:  # noqa: BLE001  a reset, or bytes that are no message: no more can come of it
            self._ended = True
            return False
        for results, resting in reports:
            self._on_report(self, results, resting)
        self._ended = not data
        return bool(data)


def ending(status: int) -> str:
    """How a process ended, in a word: "SIGKILL", "exit 1"."""
    if status < 0:
        try:
            return signal.Signals(-status).name
        except ValueError:
            return f"signal {-status}"
    return f"exit {status}"
