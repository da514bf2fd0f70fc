"""Who judges for a command: a service at a URL, or worker processes of the command's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError
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

if TYPE_CHECKING:
    from verifier_service.local import LocalClient


@contextmanager
def opened_judge(
    url: str | None, *, workers: int | None = None, profiles: Path | None = None
) -> "Iterator[Client | LocalClient]":
    """The service at `url`, or judges in process; whatever goes wrong ends as a CommandError."""
    with _faults_of_a_judge(url):
        if url is not None:
            with Client(url) as client:
                client.info()  # a service that cannot be reached is said at once
                yield client
            return
        with _local(workers, profiles) as local:
            yield local


@contextmanager
def _local(workers: int | None, profiles: Path | None) -> "Iterator[LocalClient]":
    try:
        from verifier_service.local import LocalClient
    except ModuleNotFoundError as missing:
        raise CommandError(
            f"judging in process needs {missing.name}, which this installation of the client lacks",
            'Either pip install "verifier-service[server]", or name a service: --url http://HOST:8000',
        ) from None
    with LocalClient(workers, profiles=profiles) as local:
        yield local


@contextmanager
def _faults_of_a_judge(url: str | None) -> Iterator[None]:
    try:
        yield
    except ServiceUnreachable as fault:
        raise CommandError(str(fault), f"Is it up? curl {url}/readyz", UNREACHABLE) from None
    except ServiceError as fault:
        raise CommandError(str(fault)) from None
    except ValidationError as fault:
        raise CommandError("the request cannot be taken", str(fault)) from None
    except ValueError as fault:  # UnknownProfile, ProfileError, a URL that is none
        raise CommandError(str(fault)) from None


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
    with Progress(
        *columns, console=screen, transient=True, disable=quiet or not screen.is_terminal
    ) as progress:
        yield Advance(progress, title, total)


class Advance:
    """Callable: so many more are done."""

    def __init__(self, progress: Progress, title: str, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task(title, total=total)

    def __call__(self, more: int) -> None:
        self._progress.advance(self._task, more)
