"""CPU time, memory, handles and processes of a process and everything below it, from /proc."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
# Fields of /proc/PID/stat behind the name: parent; user, system, and the same of children that were waited for.
_PARENT, _USED, _USED_BY_CHILDREN = 1, (11, 12), (13, 14)


@dataclass(frozen=True, slots=True)
class Usage:
    """Of a tree at one moment. pss_mb: memory, shared pages divided among those who share them."""

    cpu_s: float
    pss_mb: float
    handles: int
    processes: int


def processes_below(root: int) -> list[int]:
    """The process and its descendants."""
    parents = {pid: int(fields[_PARENT]) for pid in _all_pids() if (fields := _stat(pid))}
    tree = [root]
    for pid in tree:
        tree.extend(child for child, parent in parents.items() if parent == pid)
    return tree


def cpu_s(root: int) -> float:
    """CPU seconds so far of the tree, those of its dead included once they were waited for."""
    ticks = 0
    for pid in processes_below(root):
        if fields := _stat(pid):
            ticks += sum(int(fields[place]) for place in (*_USED, *_USED_BY_CHILDREN))
    return ticks * TICK_S


def cpu_by_process(root: int) -> dict[int, float]:
    """CPU seconds of each living process of the tree, without its children."""
    return {
        pid: sum(int(fields[place]) for place in _USED) * TICK_S
        for pid in processes_below(root)
        if (fields := _stat(pid))
    }


def usage(root: int) -> Usage:
    tree = processes_below(root)
    return Usage(
        cpu_s=cpu_s(root),
        pss_mb=sum(_read(pid, _pss_mb) for pid in tree),
        handles=int(sum(_read(pid, _handles) for pid in tree)),
        processes=len(tree),
    )


def _all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _stat(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _read(pid: int, what: Callable[[Path], float]) -> float:
    """0 for a process that is gone by now."""
    with suppress(OSError):
        return what(Path(f"/proc/{pid}"))
    return 0.0


def _pss_mb(folder: Path) -> float:
    for line in (folder / "smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _handles(folder: Path) -> float:
    return len(list((folder / "fd").iterdir()))
