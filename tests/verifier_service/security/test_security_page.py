"""docs/security.md names no test that is not there, and each test of this folder is named."""

import re
from pathlib import Path


def names_in(folder: Path) -> set[str]:
    return {
        name
        for file in folder.rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }


def named(root: Path) -> set[str]:
    return set(re.findall(r"`(test_\w+)`", (root / "docs" / "security.md").read_text(encoding="utf-8")))


def test_every_test_that_the_page_names_is_there(root: Path) -> None:
    assert named(root) - names_in(root / "tests") == set()


def test_every_row_of_the_page_names_a_test_or_says_where_to_look(root: Path) -> None:
    page = (root / "docs" / "security.md").read_text(encoding="utf-8")
    for line in page.splitlines():
        if line.startswith("| ") and not line.startswith("| threat"):
            assert "`test_" in line or 'see "' in line, line


def test_every_test_of_this_folder_is_on_the_page(root: Path) -> None:
    here = names_in(Path(__file__).parent) - names_of(Path(__file__))
    assert here - named(root) == set()


def names_of(file: Path) -> set[str]:
    return set(re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE))
