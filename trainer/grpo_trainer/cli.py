"""The command `grpo`. Torch is imported by the commands that need it, never at the top."""

from typing import Annotated

import typer

from grpo_trainer import __version__

app = typer.Typer(name="grpo", no_args_is_help=True, add_completion=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def grpo(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train a language model on verifiable rewards."""
