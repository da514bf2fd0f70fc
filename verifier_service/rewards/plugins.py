"""Rewards of a user's own: Python entry points of the group `verifier_service.rewards`.

Finding them reads metadata only; their code is imported in the worker that first needs it.
"""

from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from numbers import Real
from typing import Any

from verifier_service.rewards import RewardFailed, Score
from verifier_service.transcript import Transcript

GROUP = "verifier_service.rewards"

# f(item, transcript, verdict) -> float | None
OwnReward = Callable[[Any, Transcript, str | None], float | None]


@lru_cache(maxsize=1)
def own_rewards() -> dict[str, tuple[EntryPoint, ...]]:
    """Every entry point by name. More than one under a name is a clash, reported when the name is used."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        found[entry.name] = (*found.get(entry.name, ()), entry)
    return found


def origin(name: str) -> str:
    """Which code a name stands for, with the version of its distribution. Raises ValueError on a clash."""
    entries = own_rewards()[name]
    if len(entries) > 1:
        rivals = " and ".join(_origin(entry) for entry in entries)
        raise ValueError(
            f'two installed packages offer a reward "{name}": {rivals}. Uninstall one or rename it.'
        )
    return _origin(entries[0])


def _origin(entry: EntryPoint) -> str:
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "unknown"
    return f"{entry.value} ({package})"


def score(name: str, item: Any, transcript: Transcript, verdict: str | None) -> Score:
    """What a user's own reward says of an item; RewardFailed if it breaks or returns no number.

    item: the judge's item. verdict: "correct", "incorrect", "no_answer", or None where there is none.
    """
    try:
        value = _loaded(name)(item, transcript, verdict)
    except (RewardFailed, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise RewardFailed(name, f"raised {type(error).__name__}: {str(error)[:200]}") from error
    return Score(None if value is None else _number(name, value))


def _number(name: str, value: object) -> float:
    if not isinstance(value, Real):
        raise RewardFailed(name, f"returned {type(value).__name__}, not a number or None")
    try:
        number = float(value)
    except OverflowError as error:
        raise RewardFailed(name, "returned a number too large for a float") from error
    if number - number != 0:  # nan or infinite
        raise RewardFailed(name, f"returned {number}, which is no reward")
    return number


@lru_cache(maxsize=64)
def _loaded(name: str) -> OwnReward:
    entries = own_rewards().get(name, ())
    if len(entries) != 1:
        raise RewardFailed(name, f"is offered by {len(entries)} installed packages, not by one")
    try:
        reward = entries[0].load()
    except (Exception, SystemExit) as error:
        raise RewardFailed(
            name, f"could not be imported: {type(error).__name__}: {str(error)[:200]}"
        ) from error
    if not callable(reward):
        raise RewardFailed(name, f"is a {type(reward).__name__}, not a function")
    loaded: OwnReward = reward
    return loaded


def forget() -> None:
    """Look for installed rewards again (after an installation, and in tests)."""
    own_rewards.cache_clear()
    _loaded.cache_clear()
