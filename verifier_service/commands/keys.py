"""`verifier keys`: API keys in a file that a running service reads again when it changes."""

from pathlib import Path
from typing import Annotated

import typer

from verifier_service.commands.console import CommandError, errors_that_help
from verifier_service.keyfile import (
    Key,
    KeyFileError,
    checked_name,
    digest_of,
    new_key,
    read_keys,
    write_keys,
)

keys = typer.Typer(
    name="keys",
    no_args_is_help=True,
    help="Add, list and remove API keys. Only their hashes are kept (VERIFIER_KEYS_FILE).",
)
KeyFile = Annotated[
    Path,
    typer.Option(
        "--file", "-f", metavar="FILE", envvar="VERIFIER_KEYS_FILE", help="The file of keys.", dir_okay=False
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is, such as a run or a team.")]


@keys.command("add")
def add(name: Name, file: KeyFile) -> None:
    """Make a key, keep its hash, and print the key: it cannot be shown again.

    The file is made if it is not there.

        verifier keys add trainer-1 --file keys
        VERIFIER_KEYS_FILE=keys verifier serve

    To rotate a key, add one of another name, hand it out, and remove the old one.
    """
    with errors_that_help():
        known = _known(file)
        try:
            if checked_name(name) in {key.name for key in known}:
                raise CommandError(
                    f'there is a key "{name}" already', "remove it first, or take another name"
                )
            key = new_key()
            write_keys(file, [*known, Key(name, digest_of(key.encode()))])
        except KeyFileError as error:
            raise CommandError(str(error)) from None
    typer.echo(key)


@keys.command("list")
def list_names(file: KeyFile) -> None:
    """Print the names of the keys."""
    with errors_that_help():
        for key in _known(file):
            typer.echo(key.name)


@keys.command("remove")
def remove(name: Name, file: KeyFile) -> None:
    """Take a key out; a running service stops taking it within a second."""
    with errors_that_help():
        known = _known(file)
        left = [key for key in known if key.name != name]
        if len(left) == len(known):
            names = ", ".join(key.name for key in known) or "none"
            raise CommandError(f'there is no key "{name}"', f"keys in {file}: {names}")
        try:
            write_keys(file, left)
        except KeyFileError as error:
            raise CommandError(str(error)) from None


def _known(file: Path) -> list[Key]:
    if not file.exists():
        return []
    try:
        return read_keys(file)
    except KeyFileError as error:
        raise CommandError(str(error)) from None
