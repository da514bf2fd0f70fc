"""How a chat template ends the prompt of a generation: what the model's answer then begins with."""

import json
from pathlib import Path
from typing import Any

from verifier_service.commands.console import CommandError

MESSAGES = [{"role": "user", "content": "A train covers 84 km in 1.5 h. Speed in km/h?"}]
FILES = ("chat_template.jinja", "tokenizer_config.json")


def read_template(path: Path) -> str:
    """The template in a file of its own, a tokenizer_config.json, or the folder of a model."""
    if path.is_dir():
        found = [path / name for name in FILES if (path / name).is_file()]
        if not found:
            raise CommandError(f"{path} holds no chat template", f"It would be in {' or '.join(FILES)}.")
        path = found[0]
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as fault:
        raise CommandError(f"cannot read {path}: {fault.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is no text") from None
    return text if path.suffix != ".json" else _in_config(text, path)


def generation_prompt(template: str) -> str:
    """The prompt that a model gets for one question."""
    try:
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ModuleNotFoundError:
        raise CommandError("a chat template needs jinja2 to be read", "pip install jinja2") from None

    def raise_exception(message: str) -> None:
        raise CommandError(f"the chat template refuses the question: {message}")

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: "2026-01-01"
    environment.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)
    values: dict[str, Any] = {"messages": MESSAGES, "add_generation_prompt": True}
    try:
        return environment.from_string(template).render(**values, bos_token="", eos_token="", tools=None)
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as fault:
        raise CommandError(f"the chat template cannot be rendered: {fault}") from None


def _in_config(text: str, path: Path) -> str:
    try:
        found = json.loads(text).get("chat_template")
    except (ValueError, AttributeError):
        raise CommandError(f"{path} is not a tokenizer_config.json") from None
    if isinstance(found, list):  # several by name
        found = next((one.get("template") for one in found if one.get("name") == "default"), None)
    if not isinstance(found, str):
        raise CommandError(f"{path} holds no chat template")
    return found
