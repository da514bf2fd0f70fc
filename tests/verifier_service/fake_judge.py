"""A judge that misbehaves on request, for the tests of the pool. Runs in workers only."""

import ctypes
import os
import signal
import socket
import subprocess
import time
import zlib
from pathlib import Path
from typing import Any

ENDLESS_S = 3600.0
IPC_RMID, IPC_CREAT, IPC_EXCL = 0, 0o1000, 0o2000


def warm_up() -> None:
    pass


def perform(kind: str, args: tuple[Any, ...], slow_path: bool) -> object:
    what, *rest = args
    if what == "spin_on_slow_path":
        return spin() if slow_path else "fast"
    if what == "die_on_slow_path":
        return os.abort() if slow_path else "fast"
    return DEEDS[what](*rest)


def spin() -> object:
    while True:
        pass


def spin_in_c() -> object:
    """One bytecode that holds the interpreter for hours."""
    return pow(3, 10**9)


def sleep_in_c() -> object:
    return ctypes.CDLL(None).sleep(int(ENDLESS_S))


def work_for(cpu_s: float) -> float:
    until = time.process_time() + cpu_s
    while time.process_time() < until:
        pass
    return cpu_s


def once(marker: str, deed: str) -> object:
    """Misbehaves the first time only. A worker can make no file, so the mark is a piece of shared memory."""
    key = zlib.crc32(marker.encode()) & 0x7FFFFFFF
    libc = ctypes.CDLL(None)
    if libc.shmget(key, 1, IPC_CREAT | IPC_EXCL | 0o600) < 0:
        libc.shmctl(libc.shmget(key, 1, 0), IPC_RMID, None)
        return "second time"
    return DEEDS[deed]()


def grow(mb: int) -> int:
    HELD.append(b"x" * (mb << 20))
    return len(HELD)


def recurse(depth: int = 0) -> int:
    return recurse(depth + 1) + 1


class Unsendable:
    def __reduce__(self) -> str:
        raise TypeError("not to be sent")


def ask_for_a_name() -> object:
    return socket.getaddrinfo("localhost", 80)


def connect() -> object:
    return socket.create_connection(("127.0.0.1", 9), 1)


def connect_to_a_socket_file() -> object:
    with socket.socket(socket.AF_UNIX) as sock:
        return sock.connect("/nowhere")


def write(path: str) -> object:
    return Path(path).write_text("written")


def append(path: str) -> object:
    return os.close(os.open(path, os.O_APPEND | os.O_WRONLY))


HELD: list[bytes] = []
DEEDS: dict[str, Any] = {
    "echo": lambda value: value,
    "pid": os.getpid,
    "fork": os.fork,
    "system": lambda: os.system("true"),
    "popen": lambda: subprocess.run(["true"], check=True),
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}),
    "kill_parent": lambda: os.kill(os.getppid(), signal.SIGKILL),
    "ask_for_a_name": ask_for_a_name,
    "connect": connect,
    "connect_to_a_socket_file": connect_to_a_socket_file,
    "write": write,
    "append": append,
    "remove": os.remove,
    "read": lambda path: Path(path).read_text(),
    "environ": lambda name: os.environ.get(name),
    "main": lambda: getattr(__import__("sys").modules["__main__"], "__file__", ""),
    "spin": spin,
    "spin_in_c": spin_in_c,
    "sleep_in_c": sleep_in_c,
    "work_for": work_for,
    "bomb": lambda: bytearray(1 << 40),
    "grow": grow,
    "abort": os.abort,
    "kill_self": lambda: ctypes.CDLL(None).kill(os.getpid(), signal.SIGKILL),
    "exit": lambda: os._exit(0),
    "raise": lambda: [][0],
    "recurse": recurse,
    "unsendable": Unsendable,
    "garble": lambda: Garbled(),
    "once": once,
}


class Garbled:
    """Can be sent, but not read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)
