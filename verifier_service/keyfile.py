"""The file of API keys: a name and a hash per line. The keys themselves are shown once and kept nowhere."""

import hashlib
import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SCHEME = "sha256:"
HEAD = "# API keys: a name and a hash per line; written by `verifier keys`, read again when it changes.\n"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class KeyFileError(ValueError):
    """The file or a name cannot be taken; the message says why."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is kept. A plain hash will do, since keys are drawn at random and cannot be guessed."""

    name: str
    digest: bytes


def new_key() -> str:
    return "vk_" + secrets.token_urlsafe(32)


def digest_of(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise KeyFileError(f"{name[:80]!a} is no name for a key: letters, digits, '.', '_' and '-', up to 64")
    return name


def read_keys(path: Path) -> list[Key]:
    """The keys of a file. Raises KeyFileError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError(f"cannot read the keys in {path}: {error}") from None
    keys: dict[str, Key] = {}
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        digest = words[-1].removeprefix(SCHEME)
        if len(words) != 2 or not words[1].startswith(SCHEME) or not _DIGEST.fullmatch(digest):
            raise KeyFileError(
                f"{path}, line {number}: should be NAME {SCHEME}HASH; make it with `verifier keys add`"
            )
        name = checked_name(words[0])
        if name in keys:
            raise KeyFileError(f"{path}, line {number}: there are two keys of this name")
        keys[name] = Key(name, bytes.fromhex(digest))
    return list(keys.values())


def write_keys(path: Path, keys: Iterable[Key]) -> None:
    """Replaces the file in one step, readable by its owner alone: no reader meets half of it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    text = HEAD + "".join(f"{key.name} {SCHEME}{key.digest.hex()}\n" for key in keys)
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise KeyFileError(f"cannot write the keys to {path}: {error}") from None
