"""Write the table of public golds that cannot be judged into docs/equivalence.md: reasons, counts and ids, no text.

MATH_DATA_DIR=... python tools/unjudged_golds.py
"""

import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "equivalence.md"
OPENING = "<!-- unjudged: written by tools/unjudged_golds.py -->"
CLOSING = "<!-- end of unjudged -->"


def reasons(folder: Path) -> Iterator[tuple[str, str, str]]:
    """(reason, file, id) of every gold without a verdict. A quoted token of the gold is left out of the reason."""
    from verifier_service.equivalence import Context, Gold, Rules, check_gold

    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            check = check_gold(Gold(any_of=(row["answer"],)), Rules(), Context(prompt=row["question"]))
            if not check.ok:
                reason = re.sub(r"(unexpected|unknown command) .*", r"\1 sign", check.reason)
                yield reason, path.stem, row["id"]


def table(folder: Path) -> str:
    """The section between the marks."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for reason, file, row in reasons(folder):
        found[file, reason].append(row)
    lines = ["| set | reason | golds | ids |", "|---|---|---|---|"]
    for (file, reason), rows in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        first, *others = rows
        short = ", ".join([first, *(row.rpartition("-")[2] for row in others)])
        lines.append(f"| `{file}` | {reason} | {len(rows)} | {short} |")
    return "\n".join(lines)


def main() -> int:
    folder = os.environ.get("MATH_DATA_DIR")
    if not folder:
        print("MATH_DATA_DIR must name the folder of the public data sets (docs/data.md)", file=sys.stderr)
        return 2
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(OPENING)
    tail = rest.partition(CLOSING)[2]
    PAGE.write_text(f"{head}{OPENING}\n\n{table(Path(folder))}\n\n{CLOSING}{tail}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
