"""Hold the size rules of the house: no module over 500 lines, no function over 60."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOTS = ("verifier_service", "trainer", "tools", "benchmarks", "examples")
MODULE_LINES = 500
FUNCTION_LINES = 60


def oversized(path: Path) -> Iterator[str]:
    """One line of complaint per module or function that is too long."""
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    if lines > MODULE_LINES:
        yield f"{path}: {lines} lines, at most {MODULE_LINES}"
    for node in ast.walk(ast.parse(text, filename=str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{path}:{node.lineno} {node.name}: {length} lines, at most {FUNCTION_LINES}"


def main(root: Path) -> int:
    paths = sorted(path for name in ROOTS for path in (root / name).rglob("*.py"))
    complaints = [complaint for path in paths for complaint in oversized(path)]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    print(f"{len(paths)} modules, {len(complaints)} over size")
    return 1 if complaints or not paths else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent.parent))
