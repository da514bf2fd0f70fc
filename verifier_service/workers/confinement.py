"""What a worker may not do: start processes, open connections, write files.

Nothing in the judge wants to, and no text that is judged is ever executed; this is for the day when one of
them finds a way all the same. The hook holds for whatever Python code does, as root or not, and cannot be
taken out again. For code in C there is Landlock, and RLIMIT_NPROC, which the kernel does not apply to root;
the container, which runs as a user without rights, closes that gap.
"""

import os
import re
import resource
import sys
from contextlib import suppress
from typing import Any

from verifier_service.workers.landlock import forbid_by_kernel

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
# Variables that no worker has a use for: our own, which hold passwords, and whatever looks like a secret.
SECRET_PREFIX = "VERIFIER_"
_SECRET_WORDS = frozenset(
    "KEY KEYS APIKEY TOKEN SECRET PASSWORD PASSWD PASSPHRASE CREDENTIAL CREDENTIALS".split()
)
_URL_WITH_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]+@")


def forbid() -> None:
    """From now on these things raise PermissionError in this process."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    forbid_by_kernel()
    sys.addaudithook(_refuse)


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    if event in _PROCESSES:
        raise PermissionError(f"a worker may not start or signal processes ({event})")
    if event in _NETWORK:
        raise PermissionError(f"a worker may not use the network ({event})")
    if event in _FILES or (event == "open" and _is_for_writing(args)):
        raise PermissionError(f"a worker may not write files ({event})")
    if event == "open" and isinstance(args[0], str) and _is_of_another_process(args[0]):
        raise PermissionError(f"a worker may not look into other processes ({event})")


def _is_for_writing(args: tuple[Any, ...]) -> bool:
    """`open` tells path, mode and flags; a descriptor in place of the path is open already."""
    flags = args[2] if len(args) > 2 else 0
    return not isinstance(args[0], int) and isinstance(flags, int) and bool(flags & _WRITING)


def _is_of_another_process(path: str) -> bool:
    """Their variables and their memory lie there, the keys of the service among them."""
    parts = os.path.abspath(path).split("/")  # noqa: PTH100  a Path would be made for every file
    return parts[1] == "proc" and len(parts) > 2 and parts[2].isdigit() and parts[2] != str(os.getpid())


def without_secrets(environment: dict[str, str]) -> dict[str, str]:
    """The variables that workers inherit."""
    return {name: value for name, value in environment.items() if not _is_secret(name, value)}


def _is_secret(name: str, value: str) -> bool:
    return (
        name.startswith(SECRET_PREFIX)
        or not _SECRET_WORDS.isdisjoint(re.split(r"[^A-Z]+", name.upper()))
        or _URL_WITH_PASSWORD.search(value) is not None
    )
