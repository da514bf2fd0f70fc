"""What a worker may not do: start processes, open connections, write files.

Nothing in the judge wants to, and no text that is judged is ever executed; this is for the day when one of
them finds a way all the same. The hook holds for whatever Python code does, as root or not, and cannot be
taken out again. RLIMIT_NPROC holds for code in C as well, but the kernel does not apply it to root; the
container, which runs as a user without rights, closes that gap.
"""

import os
import resource
import sys
from contextlib import suppress
from typing import Any

# Audit events by what they would do (docs.python.org/3/library/audit_events.html).
_PROCESSES = frozenset(
    "os.fork os.forkpty os.exec os.posix_spawn os.spawn os.startfile os.system os.kill os.killpg"
    " subprocess.Popen pty.spawn".split()
)
_NETWORK = frozenset(
    "socket.connect socket.bind socket.sendto socket.sendmsg socket.getaddrinfo socket.gethostbyname"
    " socket.gethostbyaddr".split()
)
_FILES = frozenset(
    "os.remove os.rename os.rmdir os.mkdir os.link os.symlink os.truncate os.chmod os.chown os.mknod"
    " os.setxattr os.utime shutil.rmtree shutil.move shutil.copyfile".split()
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Names of variables that no worker has a use for, and that hold passwords.
SECRET_PREFIX = "VERIFIER_"


def forbid() -> None:
    """From now on these things raise PermissionError in this process."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    sys.addaudithook(_refuse)


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    if event in _PROCESSES:
        raise PermissionError(f"a worker may not start or signal processes ({event})")
    if event in _NETWORK:
        raise PermissionError(f"a worker may not use the network ({event})")
    if event in _FILES or (event == "open" and _is_for_writing(args)):
        raise PermissionError(f"a worker may not write files ({event})")


def _is_for_writing(args: tuple[Any, ...]) -> bool:
    """`open` tells path, mode and flags; a descriptor in place of the path is open already."""
    flags = args[2] if len(args) > 2 else 0
    return not isinstance(args[0], int) and isinstance(flags, int) and bool(flags & _WRITING)


def without_secrets(environment: dict[str, str]) -> dict[str, str]:
    """The variables that workers inherit."""
    return {name: value for name, value in environment.items() if not name.startswith(SECRET_PREFIX)}
