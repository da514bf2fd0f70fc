"""The parent's hold on the fork server: start it, ask for workers, hear of their births and deaths."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from verifier_service.workers.confinement import without_secrets
from verifier_service.workers.wire import ASK, BEAR, KILL, ORDER, YIELD, Frames, framed

CLOSE_S = 5.0
READ_BYTES = 65536
READY_S = 60.0
ASK_EVERY_S = 0.5
# Looks, not seconds: where it is this process that was held up, the answer lies unread, and the next look has it.
MOST_UNANSWERED = 4
# One thread per worker: threads of a BLAS would not survive the fork and would fight over the cores.
# A fixed hash seed: the order of a set, which reaches into sympy's results, must not change from run to run.
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told, in the event loop's thread."""

    ready: Callable[[], None]
    born: Callable[[int, int], None]  # number of the worker, its process
    exited: Callable[[int, int], None]  # number of the worker, exit status, below 0 for a signal
    lost: Callable[[str], None]  # the fork server is gone, and its workers with it; why, if it said


class Spawner:
    """One fork server. Made anew where the old one is lost. Raises OSError where none can be started."""

    def __init__(self, preload: tuple[str, ...], memory_mb: int, listeners: Listeners) -> None:
        self._listeners = listeners
        self._frames = Frames()
        self._why = ""
        self._loop = asyncio.get_running_loop()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self.ready = False
        self._control, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = _launched(theirs)
            except OSError:
                self._control.close()
                raise
        with suppress(OSError):  # it is dead already: the end of the stream will say so
            self._control.sendall(framed((preload, memory_mb)))
        self._control.setblocking(False)
        self._loop.add_reader(self._control.fileno(), self._readable)
        self._unanswered = 0
        self._alarm = self._loop.call_later(READY_S, self._lose, f"it was not ready within {READY_S:g} s")

    @property
    def pid(self) -> int:
        return self._process.pid

    def bear(self, number: int, sock_fd: int, page_fd: int) -> None:
        """Asks for a worker that owns copies of these descriptors."""
        with suppress(OSError):  # the fork server is gone: `lost` is on its way
            socket.send_fds(self._control, [ORDER.pack(BEAR, number)], [sock_fd, page_fd])

    def kill(self, number: int) -> None:
        with suppress(OSError):
            self._control.send(ORDER.pack(KILL, number))

    def let_yield(self, number: int) -> None:
        """The worker runs from now on where the others leave something over, for the rest of its life."""
        with suppress(OSError):
            self._control.send(ORDER.pack(YIELD, number))

    async def close(self) -> None:
        """Ends the fork server and with it every worker; none is left when this returns."""
        self._alarm.cancel()
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._gone), CLOSE_S)
        self._process.kill()
        self._process.wait()
        self._loop.remove_reader(self._control.fileno())
        self._control.close()

    def bury(self) -> None:
        """Cleans up after a fork server that is lost; its workers die with it."""
        self._process.kill()
        self._process.wait()
        self._loop.remove_reader(self._control.fileno())
        self._control.close()

    def _readable(self) -> None:
        try:
            data = self._control.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose(self._why)
            return
        for message in self._frames.feed(data):
            self._hear(message)

    def _lose(self, why: str) -> None:
        self._loop.remove_reader(self._control.fileno())
        self._alarm.cancel()
        self.ready = False
        if not self._gone.done():
            self._gone.set_result(None)
        self._listeners.lost(why)

    def _ask(self) -> None:
        """Whether it still lives: one that is stopped or stuck would bear and kill nobody."""
        if self._unanswered >= MOST_UNANSWERED:
            self._lose(f"it has not answered for {MOST_UNANSWERED * ASK_EVERY_S:g} s")
            return
        self._unanswered += 1
        with suppress(OSError):
            self._control.send(ORDER.pack(ASK, 0))
        self._alarm = self._loop.call_later(ASK_EVERY_S, self._ask)

    def _hear(self, message: tuple[str, int, int] | tuple[str, str] | tuple[str]) -> None:
        match message:
            case ("ready",):
                self.ready = True
                self._alarm.cancel()
                self._ask()
                self._listeners.ready()
            case ("alive",):
                self._unanswered = 0
            case ("failed", str(text)):
                self._why = text
            case ("born", int(number), int(pid)):
                self._listeners.born(number, pid)
            case ("exited", int(number), int(status)):
                self._listeners.exited(number, status)


def _launched(control: socket.socket) -> subprocess.Popen[bytes]:
    fd = control.fileno()
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "verifier_service.workers.forkserver", str(fd)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=(fd,),
        env=without_secrets(dict(os.environ)) | ENVIRONMENT | {"PYTHONPATH": path},
        start_new_session=True,  # a terminal's Ctrl-C is for the parent, which drains first
    )
