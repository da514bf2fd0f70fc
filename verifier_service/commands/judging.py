"""Who judges for a command: a service at a URL, or worker processes of the command's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from verifier_service.client import Client
from verifier_service.commands.console import UNREACHABLE, CommandError, console
from verifier_service.conversation import ServiceError, ServiceUnreachable
from verifier_service.schema import ProfileSpec, RulesPatch

if TYPE_CHECKING:
    from verifier_service.local import LocalClient


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    """By whom and how the rows of a file are judged, as the options of a command say."""

    profile: str | ProfileSpec | None = None
    rules: RulesPatch | None = None
    profiles: Path | None = None
    url: str | None = None
    workers: int | None = None


@contextmanager
def opened_judge(
    url: str | None, *, workers: int | None = None, profiles: Path | None = None
) -> "Iterator[Client | LocalClient]":
    """The service at `url`, or judges in process; what a user can put right ends as a CommandError."""
    if url is not None:
        for option, value in (("--workers", workers), ("--profiles", profiles)):
            if value is not None:
                raise CommandError(f"{option} is for judging in process; the service at --url has its own")
    with _in_process(workers, profiles) if url is None else _at(url) as judge:
        yield judge


@contextmanager
def _at(url: str) -> Iterator[Client]:
    try:
        client = Client(url)
    except ValueError as fault:
        raise CommandError(str(fault)) from None
    try:
        with client:
            client.info()  # a service that cannot be reached is said at once
            yield client
    except ServiceUnreachable as fault:
        raise CommandError(str(fault), f"Is it up? curl {client.url}/readyz", UNREACHABLE) from None
    except ServiceError as fault:
        raise CommandError(str(fault)) from None


@contextmanager
def _in_process(workers: int | None, profiles: Path | None) -> "Iterator[LocalClient]":
    try:
        from verifier_service.local import LocalClient
        from verifier_service.rewards.profile import ProfileError, UnknownProfile
        from verifier_service.workers import PoolStartError
    except ModuleNotFoundError as missing:
        raise CommandError(
            f"judging in process needs {missing.name}, which this installation of the client lacks",
            'Either pip install "verifier-service[server]", or name a service: --url http://HOST:8000',
        ) from None
    try:
        with LocalClient(workers, profiles=profiles) as local:
            yield local
    except (UnknownProfile, ProfileError, PoolStartError) as fault:
        raise CommandError(str(fault)) from None


def longest_deadline(judge: "Client | LocalClient", url: str | None) -> float | None:
    """Seconds that a batch of a file may take: nobody waits for its single items."""
    return None if url is None else judge.info().limits.max_deadline_s


@contextmanager
def progress_bar(title: str, total: int | None, *, quiet: bool) -> "Iterator[Advance]":
    """A bar on stderr where somebody watches; elsewhere silence."""
    screen = console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    silent = quiet or not screen.is_terminal
    with Progress(*columns, console=screen, transient=True, disable=silent) as progress:
        yield Advance(progress, title, total)


class Advance:
    """Callable: so many more are done."""

    def __init__(self, progress: Progress, title: str, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task(title, total=total)

    def __call__(self, more: int) -> None:
        self._progress.advance(self._task, more)
