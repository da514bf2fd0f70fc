"""The command `verifier`. Only options are declared here; what the commands do is in `commands`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

import verifier_service
from verifier_service.commands import check_cases as cases_command
from verifier_service.commands import explain as explain_command
from verifier_service.commands.check_golds import check_golds as checked_golds
from verifier_service.commands.console import (
    FINDING,
    STDOUT,
    any_text_can_be_written,
    check_json,
    console,
    errors_that_help,
    keep_log,
    write_json,
)
from verifier_service.commands.integrations import add_integrations
from verifier_service.commands.judging import JudgingOptions, opened_judge, progress_bar
from verifier_service.commands.keys import keys
from verifier_service.commands.options import profile_option, rules_option
from verifier_service.commands.rows import count_rows, read_rows
from verifier_service.commands.score import score_here
from verifier_service.commands.score_on_ray import score_on_ray
from verifier_service.commands.serve import add_serve
from verifier_service.commands.tables import show_golds, show_summary

# In help, examples stand between two paragraphs: typer takes the indent of a last block for that of all.
HELP = """Verifiable rewards for training reasoning models.

Where to start:

    verifier explain 56 'so \\boxed{56}'             # one verdict, step by step
    verifier check-golds train.jsonl                # can these golds be judged?
    verifier score rollouts.jsonl -o scored.jsonl   # a file of completions
    verifier serve                                  # on http://127.0.0.1:8000

Exit codes: 0 fine, 1 a finding, 2 wrong use, 3 the service cannot be reached, 130 stopped by Ctrl-C.
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
add_integrations(app)
app.add_typer(keys)

Url = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="Ask this service; without it, judge in process.")
]
ProfileName = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="A profile by name, or a file PROFILE.toml.")
]
Profiles = Annotated[
    Path | None,
    typer.Option(
        "--profiles", metavar="DIR", exists=True, file_okay=False, help="Folder with profiles of your own."
    ),
]
RuleSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--rule", metavar="NAME=VALUE", help="A change to the rules, such as extraction=lenient; repeatable."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, help="Processes that judge; by default one per core."),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", callback=keep_log, help="Show the judge's log, such as killed workers."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no tables, only errors.")]
DataFile = Annotated[
    Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="JSON lines or parquet.")
]
JsonOut = Annotated[
    Path | None,
    typer.Option("--json", metavar="OUT", help='Write the report as JSON; "-" prints it in place of tables.'),
]


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
    """Makes ready what all commands need; the rest is in the commands."""
    any_text_can_be_written()


@app.command()
def score(
    file: DataFile,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="OUT.jsonl", help="Results, one JSON line per row.")
    ],
    ray: Annotated[
        bool,
        typer.Option(
            "--ray",
            help="Judge on a Ray cluster (RAY_ADDRESS, else this machine); OUT.jsonl or OUT.parquet is a folder.",
        ),
    ] = False,
    url: Url = None,
    profile: ProfileName = None,
    profiles: Profiles = None,
    rule: RuleSettings = None,
    batch: Annotated[
        int, typer.Option("--batch", metavar="N", min=1, max=4096, help="Rows per request.")
    ] = 256,
    workers: Workers = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Score a file of completions; started again with the same OUT, it goes on where it stopped.

    A row is an item of POST /score: completion, gold, and what else is known (docs/api.md).

        verifier score rollouts.jsonl -o scored.jsonl --profile r1-zero
        verifier score rollouts.parquet -o scored.jsonl --url http://127.0.0.1:8000
        verifier score rollouts.jsonl -o lenient.jsonl --rule extraction=lenient
        verifier score huge.parquet -o scored.parquet --ray

    Exit code 1: some rows could not be judged; OUT says why.
    """
    with errors_that_help():
        options = JudgingOptions(profile_option(profile), rules_option(rule or []), profiles, url, workers)
        total = count_rows(file)
        with progress_bar("scoring", total, quiet=quiet) as progress:
            if ray:
                summary = score_on_ray(file, out, options, progress=progress)
            else:
                summary = score_here(file, out, options, batch=batch, progress=progress)
        show_summary(summary, console(quiet=quiet))
        if summary.errors:
            raise typer.Exit(FINDING)


@app.command()
def explain(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="The reference answer.")],
    completion: Annotated[
        str, typer.Argument(metavar="COMPLETION", help='What the model wrote; "-" reads it from stdin.')
    ],
    prompt: Annotated[
        str | None,
        typer.Option("--prompt", metavar="TEXT", help="The question: it tells units, percent, order."),
    ] = None,
    prefilled_think: Annotated[
        bool, typer.Option("--prefilled-think", help="The opening think tag stood in the prompt.")
    ] = False,
    language: Annotated[
        str | None, typer.Option("--language", metavar="CODE", help="Language asked for, such as en.")
    ] = None,
    profile: ProfileName = None,
    profiles: Profiles = None,
    rule: RuleSettings = None,
    url: Url = None,
    verbose: Verbose = False,
) -> None:
    r"""Explain one verdict, step by step.

    A gold or completion that begins with a minus goes after `--`.

        verifier explain '\frac{1}{2}' 'So we get \boxed{0.5}.'
        verifier explain --prompt 'How many metres?' '3 m' - < completion.txt
        verifier explain -- -5 'So x is \boxed{-5}.'

    Exit code 1: there is no verdict.
    """
    item = {
        "completion": sys.stdin.read() if completion == "-" else completion,
        "gold": gold,
        "prompt": prompt,
        "prefilled_think": prefilled_think,
        "language": language,
    }
    with errors_that_help():
        named, rules = profile_option(profile), rules_option(rule or [])
        with opened_judge(url, profiles=profiles) as judge:
            result = judge.score([item], profile=named, rules=rules, explain=True).results[0]
        explain_command.show(result, console())
        if result.error is not None:
            raise typer.Exit(FINDING)


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
    verbose: Verbose = False,
) -> None:
    """Check which golds of a data file can be judged, and why the others cannot.

    Golds and prompts are looked for under the names that POST /score knows.

        verifier check-golds train.jsonl --json report.json
        verifier check-golds train.parquet --gold reward_model.ground_truth

    Exit code 1: some cannot.
    """
    with errors_that_help():
        check_json(json_out)
        total = count_rows(file)
        with (
            opened_judge(url, workers=workers) as judge,
            progress_bar("checking", total, quiet=quiet) as progress,
        ):
            report = checked_golds(read_rows(file), judge.check_golds, name=gold, progress=progress)
        if json_out is not None:
            write_json(report.as_dict(), json_out)
        show_golds(report, console(quiet=quiet or json_out == STDOUT))
        if report.refused:
            raise typer.Exit(FINDING)


@app.command("check-cases")
def check_cases(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", exists=True, dir_okay=False, help="Labelled cases, JSON lines."),
    ],
    url: Url = None,
    json_out: JsonOut = None,
    workers: Workers = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Hold labelled cases against the judge: right, false positive, false negative, null, by kind.

    The format of a case is in docs/cli.md.

        verifier check-cases tests/cases/*.jsonl
        verifier check-cases own.jsonl --url http://127.0.0.1:8000 --json -

    Exit code 1: a case was missed that is not debatable, or the judge did not live through all of them.
    """
    with errors_that_help():
        check_json(json_out)
        found = cases_command.read(files)
        with (
            opened_judge(url, workers=workers) as judge,
            progress_bar("judging", len(found), quiet=quiet) as progress,
        ):
            report = cases_command.check(found, judge, url, progress)
        if json_out is not None:
            write_json(report.as_dict(), json_out)
        cases_command.show(report, console(quiet=quiet or json_out == STDOUT))
        if report.found_fault:
            raise typer.Exit(FINDING)


if __name__ == "__main__":
    app()
