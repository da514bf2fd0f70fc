"""The fingerprint of whatever bears on a judgement: two processes that show the same one judge alike."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# Modules or packages of ours; the data files in a package (word lists, profiles) count as much as its code.
PARTS = ("transcript", "extraction", "equivalence", "rewards", "judge")
LIBRARIES = ("sympy", "latex2sympy2_extended", "python-flint", "py3langid")
DIGITS = 12


@cache
def engine_fingerprint() -> str:
    """Short hex of the judge's code and the versions of its libraries; computed once per process."""
    versions = {name: _version(name) for name in LIBRARIES}
    # Which characters are digits, spaces or letters, and what they fold to, changes with Python.
    versions["unicode"] = unicodedata.unidata_version
    return fingerprint_of(Path(__file__).parent, versions)


def fingerprint_of(package: Path, versions: Mapping[str, str]) -> str:
    """The fingerprint of the judge's code in this folder, beside these libraries."""
    digest = blake2b(digest_size=DIGITS // 2)
    for path in _files(package, PARTS):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    for name in sorted(versions):
        digest.update(f"{name} {versions[name]}\n".encode())
    return digest.hexdigest()


def _files(package: Path, parts: Iterable[str]) -> Iterator[Path]:
    for part in parts:
        module = package / f"{part}.py"
        if module.is_file():
            yield module
        inside = (path for path in (package / part).rglob("*") if path.is_file())
        yield from sorted(path for path in inside if "__pycache__" not in path.parts)


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"
