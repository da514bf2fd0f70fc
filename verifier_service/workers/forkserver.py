"""The fork server: imports the judge once, then forks a worker for every request. One thread, no asyncio.

Run as `python -m verifier_service.workers.forkserver FD`, where FD is its end of the control socket. It is
its own and not multiprocessing's, because that one imports the caller's main module again in every worker
(a script without a `__main__` guard would start anew), shares its preload list with whoever else uses it
in the process, and outlives the pool. Being the parent of the workers, it alone waits for them and signals
them, so that no signal can reach a process number that has been given to a stranger.
"""

import gc
import importlib
import os
import select
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import NoReturn, cast

from verifier_service.workers.confinement import forbid
from verifier_service.workers.wire import ASK, BEAR, NEVER_BORN, ORDER, YIELD, Page, framed, read_frame
from verifier_service.workers.worker import Judge, confine, serve

ORPHAN_CHECK_S = 1.0
# Niceness of a worker in the slow lane: a quarter of a core that a brisk one wants too, and all of an idle one. A
# heavy answer should still come to its limit of CPU time before its request ends.
YIELDING = 5


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    parent = os.getppid()
    # Ctrl-C and a service manager's SIGTERM reach the whole group; the parent drains and then ends us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.dup2(2, 1)  # whatever is printed in a worker must not mix with the caller's own output
    with suppress(EOFError, ConnectionError):
        preload, memory_mb = read_frame(control)
        try:
            judge = _loaded(preload)
        except Exception:  # noqa: BLE001  whatever the import raised, the parent shows it
            control.sendall(framed(("failed", traceback.format_exc())))
            return
        control.sendall(framed(("ready",)))
        Nursery(control, judge, memory_mb, parent).run()


def _loaded(preload: tuple[str, ...]) -> Judge:
    """The first module of the list, which is the judge, warm; the others are imported for their side."""
    modules = [importlib.import_module(name) for name in preload]
    judge = cast("Judge", modules[0])
    judge.warm_up()
    gc.collect()
    # The collector of a worker then leaves the shared pages alone. Nor does it run there: a tenth of a worker's time
    # went into it, to find nothing in thousands of items, and workers are replaced where they grow.
    gc.freeze()
    gc.disable()
    return judge


class Nursery:
    """Forks, signals and waits, as told on the control socket."""

    def __init__(self, control: socket.socket, judge: Judge, memory_mb: int, parent: int) -> None:
        self._control = control
        self._judge = judge
        self._memory_mb = memory_mb
        self._parent = parent
        self._children: dict[int, int] = {}  # process -> number of the worker
        self._woken, self._waker = socket.socketpair()

    def run(self) -> None:
        for end in (self._woken, self._waker):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        try:
            while os.getppid() == self._parent:
                ready, _, _ = select.select([self._control, self._woken], [], [], ORPHAN_CHECK_S)
                if self._woken in ready:
                    self._woken.recv(4096)
                    self._reap()
                if self._control in ready:
                    self._obey()
        finally:
            self._end_all()

    def _obey(self) -> None:
        """One order. Raises EOFError where the parent has closed the socket."""
        data, fds, _, _ = socket.recv_fds(self._control, ORDER.size, 2)
        while 0 < len(data) < ORDER.size:
            data += self._control.recv(ORDER.size - len(data))
        if not data:
            raise EOFError
        what, number = ORDER.unpack(data)
        if what == BEAR:
            self._bear(number, fds[0], fds[1])
        elif what == ASK:
            self._control.sendall(framed(("alive",)))
        elif what == YIELD:
            self._let_yield(number)
        else:
            self._kill(number)

    def _bear(self, number: int, sock_fd: int, page_fd: int) -> None:
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            self._control.sendall(framed(("exited", number, NEVER_BORN)))
        else:
            if pid == 0:
                self._live(sock_fd, page_fd, server)
            self._children[pid] = number
            self._control.sendall(framed(("born", number, pid)))
        finally:
            os.close(sock_fd)
            os.close(page_fd)

    def _live(self, sock_fd: int, page_fd: int, server: int) -> NoReturn:
        """The child's side of the fork: whatever happens, it never returns into the fork server's frames."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for end in (self._control, self._woken, self._waker):
                end.close()
            confine(self._memory_mb, server)
            page = Page(page_fd)
            os.close(page_fd)
            forbid()
            serve(socket.socket(fileno=sock_fd), page, self._judge)
            status = 0
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            os._exit(status)

    def _kill(self, number: int) -> None:
        if pid := self._pid_of(number):
            os.kill(pid, signal.SIGKILL)

    def _let_yield(self, number: int) -> None:
        if pid := self._pid_of(number):
            os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid) + YIELDING)

    def _pid_of(self, number: int) -> int | None:
        return next((pid for pid, child in self._children.items() if child == number), None)

    def _reap(self) -> None:
        while self._children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            number = self._children.pop(pid, None)
            if number is not None:
                self._control.sendall(framed(("exited", number, os.waitstatus_to_exitcode(status))))

    def _end_all(self) -> None:
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        for pid in self._children:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
