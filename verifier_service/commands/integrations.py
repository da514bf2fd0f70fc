"""The commands about trainers: `path` and `doctor`."""

from pathlib import Path
from typing import Annotated

import typer

from verifier_service.commands import doctor as examination
from verifier_service.commands.console import FINDING, STDOUT, console, errors_that_help, write_json
from verifier_service.commands.path import names, path_of


def add_integrations(app: typer.Typer) -> None:
    app.command()(path)
    app.command()(doctor)


def path(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A trainer, such as openrlhf; without it, all.")
    ] = None,
) -> None:
    """Print the file of the adapter for a trainer, for trainers that take a file.

    Without a name, the names of all adapters are printed.

        verifier path easyr1

    What the adapters do is in docs/integrations.md.
    """
    if name is None:
        typer.echo("\n".join(names()))
        return
    with errors_that_help():
        typer.echo(path_of(name))


def doctor(
    url: Annotated[str, typer.Argument(metavar="URL", help="The service, as a trainer would name it.")],
    profile: Annotated[
        str | None, typer.Option("--profile", metavar="NAME", help="The profile of the training run.")
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option(
            "--template",
            metavar="PATH",
            exists=True,
            help="The model's chat template: its folder, tokenizer_config.json or a .jinja file.",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option("--batch", metavar="N", min=1, help="Completions that a process generates a step."),
    ] = None,
    generations: Annotated[
        int | None, typer.Option("--generations", metavar="G", min=1, help="Completions of one question.")
    ] = None,
    processes: Annotated[
        int, typer.Option("--processes", metavar="N", min=1, help="Processes of the trainer.")
    ] = 1,
    json_out: Annotated[
        Path | None,
        typer.Option("--json", metavar="OUT", help='Write the findings as JSON; "-" prints them.'),
    ] = None,
) -> None:
    """Look whether a trainer could begin.

    The way to the service, its version and its speed; the format under your chat template; the batch.

        verifier doctor http://127.0.0.1:8000
        verifier doctor http://127.0.0.1:8000 --profile r1-zero --template ./model

    Exit code 1: something should be put right first. The key is read from VERIFIER_API_KEY.
    """
    plan = examination.Plan(profile, template, batch, generations, processes)
    screen = console(quiet=json_out == STDOUT)
    found = []
    with errors_that_help():
        for finding in examination.examine(url, plan):
            found.append(finding)
            examination.show(finding, screen)
        if json_out is not None:
            write_json(examination.as_report(found), json_out)
    if any(finding.level == "fault" for finding in found):
        raise typer.Exit(FINDING)
