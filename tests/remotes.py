"""What a trainer would keep until its process ends is closed after each test."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from verifier_service.adapters import common
from verifier_service.adapters.common import Remote


@contextmanager
def none_left_open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Closes every Remote that is made meanwhile."""
    made: list[Remote] = []
    init = Remote.__init__

    def remember(self: Remote, *args: Any, **options: Any) -> None:
        init(self, *args, **options)
        made.append(self)

    monkeypatch.setattr(Remote, "__init__", remember)
    common._made.cache_clear()
    yield
    common._made.cache_clear()
    for remote in made:
        remote.close()
