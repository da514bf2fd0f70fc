from pathlib import Path

import pytest

from verifier_service.engine import PARTS, engine_fingerprint, fingerprint_of


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name in ("transcript.py", "judge.py", "client.py"):
        (tmp_path / name).write_text("x = 1\n")
    for name in ("equivalence/kinds/number.py", "rewards/profile.py", "extraction/words.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text("x = 1\n")
    return tmp_path


VERSIONS = {"sympy": "1.14.0"}


def test_it_is_twelve_hexadecimal_digits_and_does_not_change() -> None:
    assert len(engine_fingerprint()) == 12
    assert int(engine_fingerprint(), 16) >= 0
    assert engine_fingerprint() == engine_fingerprint()


@pytest.mark.parametrize(
    "changed",
    [
        "transcript.py",
        "judge.py",
        "equivalence/kinds/number.py",
        "rewards/profile.py",
        "extraction/words.txt",
    ],
)
def test_it_changes_with_every_file_of_the_judge(package: Path, changed: str) -> None:
    before = fingerprint_of(package, VERSIONS)
    (package / changed).write_text("x = 2\n")
    assert fingerprint_of(package, VERSIONS) != before


def test_it_changes_where_code_moves_between_files(package: Path) -> None:
    before = fingerprint_of(package, VERSIONS)
    (package / "rewards/profile.py").rename(package / "rewards/profiles.py")
    assert fingerprint_of(package, VERSIONS) != before


def test_it_changes_with_a_library(package: Path) -> None:
    assert fingerprint_of(package, VERSIONS) != fingerprint_of(package, {"sympy": "1.15.0"})


def test_what_does_not_judge_does_not_change_it(package: Path) -> None:
    before = fingerprint_of(package, VERSIONS)
    (package / "client.py").write_text("x = 2\n")
    (package / "rewards/__pycache__").mkdir()
    (package / "rewards/__pycache__/profile.pyc").write_bytes(b"x")
    assert fingerprint_of(package, VERSIONS) == before


def test_every_part_that_it_names_exists() -> None:
    package = Path(__file__).parents[2] / "verifier_service"
    assert all((package / part).is_dir() or (package / f"{part}.py").is_file() for part in PARTS)


def test_it_changes_with_the_characters_that_python_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    before = engine_fingerprint()
    monkeypatch.setattr("unicodedata.unidata_version", "1.1.0")
    assert engine_fingerprint.__wrapped__() != before
