"""`verifier serve`: the settings of the service as flags, and the start of the service."""

import inspect
import json
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer
from pydantic import ValidationError

from verifier_service.commands.console import CommandError, errors_that_help

NEEDS_SERVER = CommandError(
    "this installation has the client only; serving needs the server",
    'pip install "verifier-service[server]"',
)
# Under which heading of --help a flag stands; a setting that is not named here stands under OTHER.
PANELS = {
    "Listening": (
        "host",
        "port",
        "root_path",
        "api_key",
        "keys_file",
        "drain_s",
        "shutdown_s",
        "log_level",
        "log_format",
    ),
    "Judging": ("profile", "profiles", "data_sources", "workers", "item_cpu_s", "memory_mb", "recycle_after"),
    "Requests": (
        "max_body_bytes",
        "max_items",
        "max_values",
        "queue_items",
        "queue_s",
        "queue_mb",
        "receive_s",
        "deadline_s",
        "max_deadline_s",
        "cache_mb",
    ),
    "Quotas": ("rate_items", "rate_mb", "rate_on_failure"),
    "Redis": ("redis_url", "redis_timeout_s", "redis_ttl_s"),
}
OTHER = "Other"
HELP = """Start the service: POST /score, /golds; docs at /docs.

Every flag is also an environment variable, VERIFIER_ and its name: --max-items is VERIFIER_MAX_ITEMS.

    verifier serve
    verifier serve --profile r1-zero --workers 8
    verifier serve --host 0.0.0.0 --port 9000 --profiles ./profiles

A flag wins over its variable. Stop it with Ctrl-C or SIGTERM: requests in flight are answered first.
"""


def add_serve(app: typer.Typer) -> None:
    """Declares `serve`: with a flag per setting, or as an error that tells what to install."""
    try:
        from verifier_service.server.settings import Settings
    except ModuleNotFoundError:
        app.command("serve", help=HELP, context_settings=_ANY_ARGUMENTS)(_serve_nothing)
        return
    app.command("serve", help=HELP)(_with_flags(Settings))


_ANY_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}


def _serve_nothing() -> None:
    with errors_that_help():
        raise NEEDS_SERVER


def _with_flags(settings: type[Any]) -> Callable[..., None]:
    """The function behind `serve`, with one keyword per setting for typer to read."""

    def serve(**flags: str | None) -> None:
        with errors_that_help():
            run(settings, {name: text for name, text in flags.items() if text is not None})

    parameters = [_parameter(name, info) for name, info in settings.model_fields.items()]
    # typer reads both: the signature for names and defaults, the annotations for types.
    serve.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    serve.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return serve


def _parameter(name: str, info: Any) -> inspect.Parameter:
    option = typer.Option(
        flag(name),
        help=_help(info),
        metavar=_metavar(info.annotation),
        rich_help_panel=_panel(name),
    )
    # Texts all: pydantic reads a flag exactly as it reads the variable.
    annotation = Annotated[str | None, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _panel(name: str) -> str:
    return next((panel for panel, names in PANELS.items() if name in names), OTHER)


def _metavar(annotation: Any) -> str:
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        kept = [kind for kind in typing.get_args(annotation) if kind is not types.NoneType]
        return _metavar(kept[0])
    if typing.get_origin(annotation) is Literal:
        return "|".join(typing.get_args(annotation))
    names = {int: "INTEGER", float: "NUMBER", bool: "true|false"}
    if typing.get_origin(annotation) is dict:
        return "JSON"
    return names.get(annotation, "PATH" if "Path" in str(annotation) else "TEXT")


def _help(info: Any) -> str:
    # A default made by a factory differs by machine; the description says how.
    told = info.default_factory is None and info.default not in (None, "")
    return f"{info.description} Default: {info.default}." if told else str(info.description)


def run(settings: type[Any], flags: dict[str, str]) -> None:
    """Starts the service with these flags over the environment, and serves until it is stopped."""
    try:
        from pydantic_settings import SettingsError

        from verifier_service.keyfile import KeyFileError
        from verifier_service.redis_link import RedisAddressError, RedisMissing
        from verifier_service.rewards.profile import ProfileError, UnknownProfile
        from verifier_service.server.app import ServeError, serve
    except ModuleNotFoundError:
        raise NEEDS_SERVER from None
    try:
        chosen = settings(**{name: _value(settings, name, text) for name, text in flags.items()})
    except ValidationError as fault:
        raise CommandError("these settings cannot be taken", _faults(fault, settings)) from None
    except SettingsError as fault:  # a variable that should hold JSON, or name a file
        raise CommandError("these settings cannot be taken", _unreadable(fault, settings)) from None
    try:
        code = serve(chosen)
    except KeyFileError as fault:
        raise CommandError(str(fault), "`verifier keys add NAME --file FILE` makes one") from None
    except (ServeError, UnknownProfile, ProfileError, RedisMissing, RedisAddressError) as fault:
        raise CommandError(str(fault)) from None
    if code:
        raise typer.Exit(code)


def _value(settings: type[Any], name: str, text: str) -> Any:
    """A flag is text; a setting that is an object is written as JSON."""
    if typing.get_origin(settings.model_fields[name].annotation) is not dict:
        return text
    try:
        return json.loads(text)
    except ValueError as fault:
        raise CommandError(
            f"{flag(name)} takes JSON: {fault}", str(settings.model_fields[name].description)
        ) from None


def _unreadable(fault: Exception, settings: type[Any]) -> str:
    """pydantic-settings names the field of a variable that is no JSON, not the variable."""
    named = [name for name in settings.model_fields if f'field "{name}"' in str(fault)]
    return f"{_variable(named[0], settings)} takes JSON: {fault.__cause__}" if named else str(fault)


def _variable(name: str, settings: type[Any]) -> str:
    return f"{settings.model_config['env_prefix']}{name.upper()}"


def _faults(error: ValidationError, settings: type[Any]) -> str:
    """Each fault by its flag and its variable; one about several settings at once stands alone."""
    lines = []
    for fault in error.errors(include_url=False):
        name = str(fault["loc"][0]) if fault["loc"] else ""
        told = f"{flag(name)} ({_variable(name, settings)}): " if name else ""
        lines.append(told + str(fault["msg"]))
    return "\n".join(lines)
