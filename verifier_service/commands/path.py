"""`verifier path NAME`: where the adapter of a trainer lies, for trainers that take files."""

import difflib
from pathlib import Path

from verifier_service.commands.console import CommandError

ADAPTERS = Path(__file__).parent.parent / "adapters"
PREFIX = "for_"
# Trainers that go by the adapter of another one.
ALSO = {"unsloth": "trl", "axolotl": "trl", "miles": "slime", "prime_rl": "verifiers", "skyrl_gym": "skyrl"}


def names() -> list[str]:
    return sorted(path.stem.removeprefix(PREFIX) for path in ADAPTERS.glob(f"{PREFIX}*.py"))


def path_of(name: str) -> Path:
    """The file of an adapter. Raises CommandError where there is none of this name."""
    wanted = name.lower().replace("-", "_").removeprefix(PREFIX).removesuffix(".py")
    wanted = ALSO.get(wanted, wanted)
    known = names()
    if wanted in known:
        return ADAPTERS / f"{PREFIX}{wanted}.py"
    nearest = difflib.get_close_matches(wanted, [*known, *ALSO], n=1)
    hint = f'Nearest: "{nearest[0]}". ' if nearest else ""
    raise CommandError(
        f'no adapter "{name}". {hint}Known: {", ".join(known)}.', "What they do: docs/integrations.md"
    )
