"""The keys that open the service: one from the settings, any number from a file that may change."""

import hmac
import logging
import time
from collections.abc import Callable
from pathlib import Path

from verifier_service.keyfile import Key, KeyFileError, digest_of, read_keys

LOOK_S = 1.0
THE_ONE = "default"  # name of the key that stands in the settings

log = logging.getLogger(__name__)


class Keyring:
    """Raises KeyFileError where the file cannot be read at the start; later the last good one holds."""

    def __init__(
        self, one: str | None, path: Path | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._one = [] if one is None else [Key(THE_ONE, digest_of(one.strip().encode()))]
        self._path = path
        self._clock = clock
        self._seen = _signature(path)
        self._next_look = clock() + LOOK_S
        self._keys = [*self._one, *([] if path is None else read_keys(path))]

    @property
    def guards(self) -> bool:
        """Whether a key is needed. A file without keys opens to nobody, not to everybody."""
        return bool(self._one) or self._path is not None

    def __len__(self) -> int:
        return len(self._keys)

    def holder(self, sent: bytes) -> str | None:
        """The name of this key, None if there is no such key."""
        self._look()
        digest = digest_of(sent)
        found = None
        for key in self._keys:  # all of them, so that the time tells nothing
            if hmac.compare_digest(key.digest, digest):
                found = key.name
        return found

    def _look(self) -> None:
        """Reads the file again where it has changed, at most once in a while."""
        now = self._clock()
        if self._path is None or now < self._next_look:
            return
        self._next_look = now + LOOK_S
        signature = _signature(self._path)
        if signature != self._seen:
            self._seen = signature
            self.reload()

    def reload(self) -> None:
        """Takes the file as it is now; one that cannot be read changes nothing."""
        if self._path is None:
            return
        try:
            keys = read_keys(self._path)
        except KeyFileError as error:
            log.error("the keys stay as they were, %d of them: %s", len(self), error)
            return
        self._keys = [*self._one, *keys]
        log.info("keys read again: %d", len(self))


def _signature(path: Path | None) -> tuple[int, int, int] | None:
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)
