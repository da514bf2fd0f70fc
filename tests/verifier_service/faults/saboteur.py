"""A reward that misbehaves as its item asks: how the tests reach into the workers of a real service."""

import ctypes
import os
import pickle
import socket
import stat
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

ENDLESS_S = 3600
HELD: list[bytes] = []
LIBC = ctypes.CDLL(None, use_errno=True)


def misbehave(item: Any, transcript: object, verdict: str | None) -> float:
    deed, *rest = (item.info or {}).get("deed") or ["nothing"]
    DEEDS[deed](*rest)
    return 0.0


def nothing() -> None:
    pass


def spin() -> None:
    while True:
        pass


def grow() -> None:
    while True:
        HELD.append(b"x" * (32 << 20))


def show(text: object) -> None:
    """What a worker learns it can tell only in an error, which comes back with the item."""
    raise ValueError(f"shown: {text}")


def call_c(function: str, *arguments: int | str | bytes) -> None:
    """What Python's own guard never hears of."""
    given = [argument.encode() if isinstance(argument, str) else argument for argument in arguments]
    if getattr(LIBC, function)(*given) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def connect_in_c(port: int) -> None:
    address = struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", port, bytes((127, 0, 0, 1)))
    call_c("connect", LIBC.socket(socket.AF_INET, socket.SOCK_STREAM, 0), address, len(address))


class Evil:
    """Whoever unpickles it makes a file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self._path, "w")


def send(path: str) -> None:
    """A message of its own in place of the report, on whatever socket there is."""
    message = pickle.dumps(([(1, 0, Evil(path))], False))
    for descriptor in range(3, 64):
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                os.write(descriptor, struct.pack("<I", len(message)) + message)


DEEDS: dict[str, Any] = {
    "nothing": nothing,
    "spin": spin,
    "hang_in_c": lambda: pow(3, 10**9),
    "sleep_in_c": lambda: LIBC.sleep(ENDLESS_S),
    "bomb": lambda: bytearray(1 << 40),
    "grow": grow,
    "abort": os.abort,
    "fork": os.fork,
    "system": os.system,
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "take": time.sleep,
    "read": lambda path: show(Path(path).read_text(errors="replace")),
    "write": lambda path: Path(path).write_text("written"),
    "variable": lambda name: show(os.environ.get(name)),
    "connect": lambda port: socket.create_connection(("127.0.0.1", port), 1),
    "call_c": call_c,
    "connect_in_c": connect_in_c,
    "send": send,
}
