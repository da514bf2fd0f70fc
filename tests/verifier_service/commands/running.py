"""`verifier` run in this process, and rows for it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from verifier_service.cli import app

NOBODY = "http://127.0.0.1:1"
BOXED = [
    {"id": "a", "completion": r"<think>2+3</think>\boxed{5}", "gold": "5"},
    {"id": "b", "completion": r"\boxed{6}", "gold": "5"},
    {"id": "c", "completion": "none", "gold": "5"},
]


def verifier(*arguments: str | Path, stdin: str = "") -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), input=stdin)


def lines(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
