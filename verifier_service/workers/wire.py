"""Between the processes of the pool: framed messages on a socket, and a page of shared memory per worker.

What changes with every item (which one is running, since when) is written to the page and costs no system
call. Chunks are laid into an inbox behind the page, which spares the kernel two copies of every text; results,
and a chunk that is too large for the inbox, travel on the socket.
"""

import io
import mmap
import os
import pickle
import socket
import struct
import sys
import tempfile
import time
from dataclasses import is_dataclass
from typing import Any, NamedTuple

Bytes = bytes | bytearray | memoryview

HEADER = struct.Struct("<I")
# Orders to the fork server: what to do, and to which worker; ASK wants to hear that it lives, YIELD lets a
# worker run only where the others leave something over.
ORDER = struct.Struct("<cxxxI")
BEAR, KILL, ASK, YIELD = b"b", b"k", b"a", b"y"
NEVER_BORN = 255  # told as the exit status of a worker that could not be forked
MOST_BYTES = 1 << 28  # of a message: far above the explanations of a chunk of the largest items
OWN_MODULES = "verifier_service."
PAGE_BYTES = mmap.PAGESIZE
INBOX_BYTES = 1 << 20
IN_THE_INBOX = HEADER.pack(0)  # on the socket, in place of a message
_RUNNING = struct.Struct("<QQQ")
_REVOKED = struct.Struct("<Q")
_REVOKED_AT = 64  # another cache line: the parent writes it, the worker writes the rest


def framed(message: object) -> memoryview:
    """The pickled message behind its length, without a second copy of a large one."""
    buffer = io.BytesIO()
    buffer.write(bytes(HEADER.size))
    pickle.dump(message, buffer, pickle.HIGHEST_PROTOCOL)
    view = buffer.getbuffer()
    HEADER.pack_into(view, 0, len(view) - HEADER.size)
    return view


def read_frame(sock: socket.socket, inbox: memoryview | None = None) -> Any:
    """The next message of a blocking socket, or of the inbox that it points to.

    Raises EOFError where the other side is gone.
    """
    (size,) = HEADER.unpack(_read_exactly(sock, HEADER.size))
    if size or inbox is None:
        return pickle.loads(_read_exactly(sock, size))
    (size,) = HEADER.unpack_from(inbox)
    return pickle.loads(inbox[HEADER.size : HEADER.size + size])


def _read_exactly(sock: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        got = sock.recv_into(view)
        if not got:
            raise EOFError
        view = view[got:]
    return data


class _Plain(pickle.Unpickler):
    """Reads plain values and dataclasses of this package, and nothing else.

    A pickle may name any function there is and have it called, and a worker is where hostile text would take over.
    """

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith(OWN_MODULES):
            found = super().find_class(module, name)
            if isinstance(found, type) and is_dataclass(found) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not to be sent")


class Frames:
    """Cuts the stream of another process into messages. Raises UnpicklingError where it sends what it should not."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: Bytes) -> list[Any]:
        """Takes what has arrived and returns the messages that are now complete."""
        self._data += data
        messages, at = [], 0
        with memoryview(self._data) as view:
            while len(view) - at >= HEADER.size:
                (size,) = HEADER.unpack_from(view, at)
                if size > MOST_BYTES:
                    raise pickle.UnpicklingError(f"{size} bytes are no message")
                end = at + HEADER.size + size
                if end > len(view):
                    break
                messages.append(_Plain(io.BytesIO(view[at + HEADER.size : end])).load())
                at = end
        del self._data[:at]
        return messages


class Running(NamedTuple):
    """The call that a worker is at (its number, 0 for none), with CPU clock and time at its start.

    At rest: since when.
    """

    seq: int
    cpu_ns: int
    wall_ns: int


class Page:
    """The shared page of one worker, and the inbox behind it.

    Nothing locks the page, so a reader may see a start half written: act on it only when it reads the same
    twice. The inbox belongs to the parent while the worker rests, and to the worker from the message on the
    socket that points to it.
    """

    def __init__(self, fd: int) -> None:
        self._map = mmap.mmap(fd, PAGE_BYTES + INBOX_BYTES)

    def begin(self, seq: int) -> None:
        _RUNNING.pack_into(self._map, 0, seq, time.process_time_ns(), time.monotonic_ns())

    def rest(self) -> None:
        _RUNNING.pack_into(self._map, 0, 0, 0, time.monotonic_ns())

    @property
    def running(self) -> Running:
        return Running(*_RUNNING.unpack_from(self._map, 0))

    def revoke(self, chunk: int) -> None:
        """Asks the worker to start nothing more of this chunk."""
        _REVOKED.pack_into(self._map, _REVOKED_AT, chunk)

    @property
    def revoked(self) -> int:
        (chunk,) = _REVOKED.unpack_from(self._map, _REVOKED_AT)
        return int(chunk)

    def lay_in(self, message: Bytes) -> bool:
        """Puts a framed message into the inbox; whether there was room for it."""
        if len(message) > INBOX_BYTES:
            return False
        self._map[PAGE_BYTES : PAGE_BYTES + len(message)] = message
        return True

    @property
    def inbox(self) -> memoryview:
        return memoryview(self._map)[PAGE_BYTES:]

    def close(self) -> None:
        self._map.close()


def new_page_fd() -> int:
    """Descriptor of a fresh page of zeros with its inbox, which two processes can map."""
    if sys.platform == "linux":
        fd = os.memfd_create("verifier-worker")
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, PAGE_BYTES + INBOX_BYTES)
    return fd
