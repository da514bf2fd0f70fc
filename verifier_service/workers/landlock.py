"""Linux's own word on what a process may not do (Landlock): it holds for code in C and for root as well.

From Linux 5.13 on; the later versions of the interface add the network and signals. Older kernels, and
containers that forbid the system calls, leave it to the guard in confinement.py.
Source: https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import struct
import sys

# The same numbers on every architecture but alpha.
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_TELL_VERSION = 1
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION = 0x20080522
# Executing, writing, removing and making of every kind: bits 0, 1, 4 to 12. Reading (2, 3) stays allowed.
_FILES = 0b1_1111_1111_0011
_LINKS, _TRUNCATION, _DEVICES = 1 << 13, 1 << 14, 1 << 15
_TCP = 0b11  # bind, connect
_SCOPES = 0b11  # abstract sockets of others, signals to others


def forbid_by_kernel() -> bool:
    """No executing, no writing, no TCP, no signals and no look into other processes; whether the kernel holds to it.

    Cannot be taken back. Files that are open already stay so. Root keeps its name and loses its powers.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None)
    libc.capset(struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(24))
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _TELL_VERSION)
    if version < 1:
        return False
    rules = _rules(version)
    ruleset = libc.syscall(_CREATE_RULESET, rules, ctypes.c_size_t(len(rules)), 0)
    if ruleset < 0:
        return False
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    restricted: int = libc.syscall(_RESTRICT_SELF, ruleset, 0)
    libc.close(ruleset)
    return restricted == 0


def _rules(version: int) -> bytes:
    """What is handled; with no exception to it all of that is forbidden."""
    files = _FILES
    files |= _LINKS * (version >= 2) | _TRUNCATION * (version >= 3) | _DEVICES * (version >= 5)
    words = [files, *[_TCP] * (version >= 4), *[_SCOPES] * (version >= 6)]
    return struct.pack(f"={len(words)}Q", *words)
