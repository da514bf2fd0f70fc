"""The judge's processes seen from outside, through /proc: who they are, what they hold, how to end one.

Linux only. Elsewhere, and for a service on another machine or in a container, nothing can be seen, and
`Processes` says so instead of guessing: a process id of another machine means nothing here.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")
POLL_S = 0.05
LISTENING = "0A"  # state of a listening socket in /proc/PID/net/tcp
FORKSERVER = b"verifier_service.workers.forkserver"  # stands in the command line of a fork server
RESET_PEAK = "5"  # to /proc/PID/clear_refs: forget the peak of resident memory


@dataclass(frozen=True, slots=True)
class Processes:
    """The process that holds the judge's pool, and what hangs below it. root None: out of sight."""

    root: int | None

    @classmethod
    def own(cls) -> "Processes":
        return cls(os.getpid() if PROC.joinpath("self", "stat").exists() else None)

    @classmethod
    def of_service(cls, pid: int, port: int) -> "Processes":
        """The service's processes if `pid` is a process here that listens on `port`, else out of sight."""
        return cls(pid if listens(pid, port) else None)

    @property
    def visible(self) -> bool:
        return self.root is not None

    def parents(self) -> list[int]:
        """The processes that own the workers: the root and the fork servers below it."""
        if self.root is None:
            return []
        servers = [child for child in _children().get(self.root, []) if FORKSERVER in _command(child)]
        return [self.root, *servers]

    def workers(self) -> list[int]:
        children = _children()
        return [worker for server in self.parents()[1:] for worker in children.get(server, [])]

    def folder(self) -> Path | None:
        """Working folder of the root, where visible."""
        if self.root is None:
            return None
        with suppress(OSError):
            return (PROC / str(self.root) / "cwd").readlink()
        return None

    @contextmanager
    def without_progress(self) -> Iterator[None]:
        """Stops the workers on entry and kills them on exit: whatever they took meanwhile is lost."""
        stopped = self.workers()
        _signal(stopped, signal.SIGSTOP)
        try:
            yield
        finally:
            _signal(stopped, signal.SIGKILL)


@dataclass(slots=True)
class MemoryWatch:
    """Peak resident memory of the largest of the processes, in MB, while the block runs.

    Polls: a worker may be killed before the end, and its peak with it.
    """

    processes: Processes
    peak_mb: float = 0.0
    _done: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> "MemoryWatch":
        for pid in self._pids():
            with suppress(OSError):
                (PROC / str(pid) / "clear_refs").write_text(RESET_PEAK)
        if self.processes.visible:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(POLL_S):
            self._look()
        self._look()

    def _look(self) -> None:
        self.peak_mb = max([self.peak_mb, *(_peak_mb(pid) for pid in self._pids())])

    def _pids(self) -> list[int]:
        # The root is not of the judge's making in process: it may hold anything of the caller's.
        return self.processes.workers()


def listens(pid: int, port: int) -> bool:
    """Whether the process exists here and holds a socket that listens on the port."""
    with suppress(OSError):
        inodes = {f"socket:[{inode}]" for inode in _listening_inodes(pid, port)}
        return any(_target(link) in inodes for link in (PROC / str(pid) / "fd").iterdir())
    return False


def _listening_inodes(pid: int, port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        lines = (PROC / str(pid) / "net" / table).read_text().splitlines()[1:]
        for fields in map(str.split, lines):
            if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


def _target(link: Path) -> str:
    with suppress(OSError):  # closed since the folder was listed
        return str(link.readlink())
    return ""


def _children() -> dict[int, list[int]]:
    """Every process of this machine under its parent."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # gone since the folder was listed
                # The name in brackets may hold anything, spaces and brackets too.
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    return children


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return (PROC / str(pid) / "cmdline").read_bytes()
    return b""


def _peak_mb(pid: int) -> float:
    with suppress(OSError):
        for line in (PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
