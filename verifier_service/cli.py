"""The command `verifier`. Only options are declared here; what the commands do is in `commands`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import verifier_service
from verifier_service.commands import check_cases as cases_command
from verifier_service.commands import explain as explain_command
from verifier_service.commands.check_golds import check_golds as checked_golds
from verifier_service.commands.console import FINDING, CommandError, console, errors_that_help
from verifier_service.commands.judging import opened_judge, progress_bar
from verifier_service.commands.keys import keys
from verifier_service.commands.options import profile_option, rules_option
from verifier_service.commands.rows import count_rows, read_rows
from verifier_service.commands.score import opened, score_rows
from verifier_service.commands.serve import add_serve
from verifier_service.commands.tables import show_golds, show_summary

HELP = """Verifiable rewards for training reasoning models.

Exit codes: 0 fine, 1 a finding, 2 wrong use, 3 the service cannot be reached.
"""

app = typer.Typer(
    name="verifier",
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
add_serve(app)
app.add_typer(keys)

Url = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="Ask this service; without it, judge in process.")
]
ProfileName = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="A profile by name, or a file PROFILE.toml.")
]
RuleSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--rule", metavar="NAME=VALUE", help="A change to the rules, such as extraction=lenient; repeatable."
    ),
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Worker processes in process; one per core by default.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no tables, only errors.")]
DataFile = Annotated[
    Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="JSON lines or parquet.")
]
JsonOut = Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Also write the report as JSON.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(verifier_service.__version__)
        raise typer.Exit


@app.callback()
def verifier(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Shows the version where asked; the rest is in the commands."""


@app.command()
def score(
    file: DataFile,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="OUT.jsonl", help="Results, one JSON line per row.")
    ],
    url: Url = None,
    profile: ProfileName = None,
    rule: RuleSettings = None,
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Rows per request.")] = 256,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Score a file of completions; started again with the same OUT, it goes on where it stopped.

    A row is an item of POST /score: completion, gold, and what else is known (docs/api.md).

        verifier score rollouts.jsonl -o scored.jsonl --profile r1-zero
    """
    with errors_that_help():
        named, rules = profile_option(profile), rules_option(rule or [])
        total = count_rows(file)
        with (
            opened(out) as ledger,
            opened_judge(url, workers=workers) as judge,
            progress_bar("scoring", total, quiet=quiet) as progress,
        ):
            score_rows(
                read_rows(file),
                ledger,
                lambda items: judge.score(items, profile=named, rules=rules),
                batch=batch,
                progress=progress,
            )
        show_summary(ledger.summary, console(quiet=quiet))


@app.command()
def explain(
    gold: Annotated[str, typer.Argument(help="The reference answer.")],
    completion: Annotated[str, typer.Argument(help="What the model wrote.")],
    prompt: Annotated[
        str | None, typer.Option(help="The question: units, percent, order are told by it.")
    ] = None,
    profile: ProfileName = None,
    rule: RuleSettings = None,
    url: Url = None,
) -> None:
    r"""Explain one verdict, step by step.

    verifier explain '\frac{1}{2}' 'So we get \boxed{0.5}.'
    """
    item = {"completion": completion, "gold": gold, "prompt": prompt}
    with errors_that_help(), opened_judge(url, workers=1) as judge:
        response = judge.score(
            [item], profile=profile_option(profile), rules=rules_option(rule or []), explain=True
        )
        explain_command.show(response.results[0], console())


@app.command("check-golds")
def check_golds(
    file: DataFile,
    gold: Annotated[
        str | None, typer.Option("--gold", metavar="FIELD", help="The gold's field; a.b reaches inside.")
    ] = None,
    url: Url = None,
    workers: Workers = None,
    json_out: JsonOut = None,
    quiet: Quiet = False,
) -> None:
    """Check which golds of a data file can be judged, and why the others cannot.

    verifier check-golds train.jsonl --gold answer
    """
    with errors_that_help():
        total = count_rows(file)
        with (
            opened_judge(url, workers=workers) as judge,
            progress_bar("checking", total, quiet=quiet) as progress,
        ):
            report = checked_golds(read_rows(file), judge.check_golds, name=gold, progress=progress)
        if json_out is not None:
            _write(json_out, report.as_dict())
        show_golds(report, console(quiet=quiet))
        if report.refused:
            raise typer.Exit(FINDING)


@app.command("check-cases")
def check_cases(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", exists=True, dir_okay=False)],
    url: Url = None,
    json_out: JsonOut = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Hold labelled cases against the judge: right, false positive, false negative, null, by kind.

    With --url also checks that one process of the service lives through all of them.

        verifier check-cases tests/cases/*.jsonl
    """
    with errors_that_help():
        found = cases_command.read(files)
        with (
            opened_judge(url, workers=workers) as judge,
            progress_bar("checking", len(found), quiet=quiet) as progress,
        ):
            report = cases_command.check(found, judge, url, progress)
        if json_out is not None:
            cases_command.write(report, json_out)
        cases_command.show(report, console(quiet=quiet))
        if report.found_fault:
            raise typer.Exit(FINDING)


def _write(path: Path, report: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(report, indent=2, default=str) + "\n", encoding="utf-8")
    except OSError as fault:
        raise CommandError(f"cannot write {path}: {fault.strerror}") from None


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script."""
    app(args=list(arguments) if arguments is not None else None)


if __name__ == "__main__":
    main()
