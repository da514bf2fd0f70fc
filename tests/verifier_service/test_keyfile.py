"""Keys at rest: hashes and names, nothing that opens a door."""

import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from verifier_service.cli import app
from verifier_service.keyfile import Key, KeyFileError, digest_of, new_key, read_keys, write_keys

HASH = "0" * 64


def verifier(*arguments: str, ends_with: int = 0) -> str:
    result = CliRunner().invoke(app, ["keys", *arguments])
    assert result.exit_code == ends_with, result.output
    return result.output.strip()


def test_a_key_is_printed_once_and_kept_as_a_hash(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    key = verifier("add", "run-7", "--file", str(file))
    assert len(key) > 40
    assert key not in file.read_text()
    assert read_keys(file) == [Key("run-7", digest_of(key.encode()))]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_keys_are_added_listed_and_removed_by_name(tmp_path: Path) -> None:
    file = str(tmp_path / "keys")
    assert verifier("list", "--file", file) == ""
    first, second = (verifier("add", name, "--file", file) for name in ("a", "b"))
    assert first != second
    assert verifier("list", "--file", file).split() == ["a", "b"]
    assert "already" in verifier("add", "a", "--file", file, ends_with=2)
    verifier("remove", "a", "--file", file)
    assert verifier("list", "--file", file) == "b"
    assert "no key" in verifier("remove", "a", "--file", file, ends_with=2)
    assert [path.name for path in tmp_path.iterdir()] == ["keys"]


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "é", "#a", "x" * 65])
def test_a_name_that_could_be_misread_is_refused(name: str, tmp_path: Path) -> None:
    verifier("add", name, "--file", str(tmp_path / "keys"), ends_with=2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "a",
        f"a {HASH}",
        "a sha256:00",
        f"a sha256:{HASH} more",
        f"a sha256:{HASH.replace('0', 'g')}",
        f"a sha256:{HASH}\na sha256:{HASH}",
        "vk_plaintext",
    ],
)
def test_a_line_that_is_no_key_is_told_and_never_passed_over(text: str, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(text)
    with pytest.raises(KeyFileError, match="line"):
        read_keys(file)


def test_comments_and_empty_lines_are_no_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# head\n\n  a sha256:{HASH}  # since May\n")
    assert [key.name for key in read_keys(file)] == ["a"]


def test_what_cannot_be_written_is_told_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    with pytest.raises(KeyFileError):
        write_keys(tmp_path / "keys", [])
    assert [path.name for path in tmp_path.iterdir()] == ["keys"]


def test_no_key_is_made_twice() -> None:
    assert len({new_key() for _ in range(100)}) == 100
