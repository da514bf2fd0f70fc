"""What the built distributions hold, and what they pull in."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from verifier_service.commands.path import names as names_of_adapters

HEAVY = {
    "fastapi",
    "uvicorn",
    "sympy",
    "latex2sympy2-extended",
    "python-flint",
    "torch",
    "transformers",
    "numpy",
}


@pytest.fixture(scope="session")
def wheels(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both distributions, built from copies of their sources so that the checkout stays clean."""
    return {
        "verifier_service": build(root, tmp_path_factory.mktemp("service")),
        "grpo_trainer": build(root / "trainer", tmp_path_factory.mktemp("trainer")),
    }


def build(source: Path, work: Path) -> Path:
    copy = work / "source"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "tests", "runs", "dist", "build")
    shutil.copytree(source, copy, ignore=ignored)
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(work / "dist"),
        str(copy),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (work / "dist").glob("*.whl")
    return wheel


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode("utf-8"))


def requirements(wheel: Path) -> Iterator[Requirement]:
    for line in metadata(wheel).get_all("Requires-Dist", []):
        yield Requirement(line)


def needed(wheel: Path, extra: str = "") -> set[str]:
    """Names of what `pip install NAME[extra]` asks for directly."""
    return {
        requirement.name.lower().replace("_", "-")
        for requirement in requirements(wheel)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra})
    }


def test_the_wheel_of_the_service_holds_the_service_alone(wheels: dict[str, Path]) -> None:
    tops = {name.split("/")[0] for name in names(wheels["verifier_service"])}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"verifier_service"}
    assert not [name for name in names(wheels["verifier_service"]) if "grpo_trainer" in name]


def test_the_wheel_of_the_trainer_holds_the_trainer_alone(wheels: dict[str, Path]) -> None:
    tops = {name.split("/")[0] for name in names(wheels["grpo_trainer"])}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"grpo_trainer"}


def test_the_wheel_carries_every_source_file_and_every_data_file(wheels: dict[str, Path], root: Path) -> None:
    packed = set(names(wheels["verifier_service"]))
    package = root / "verifier_service"
    sources = {
        path.relative_to(root).as_posix()
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert sources - packed == set()
    assert "verifier_service/py.typed" in packed
    assert [
        name for name in packed if name.startswith("verifier_service/profiles/") and name.endswith(".toml")
    ]


def test_the_wheel_carries_licence_and_notice(wheels: dict[str, Path]) -> None:
    packed = names(wheels["verifier_service"])
    assert [name for name in packed if name.endswith("licenses/LICENSE")]
    assert [name for name in packed if name.endswith("licenses/NOTICE")]
    assert metadata(wheels["verifier_service"])["License-Expression"] == "Apache-2.0"


def test_the_base_install_is_the_client_alone(wheels: dict[str, Path]) -> None:
    assert needed(wheels["verifier_service"]) == {"httpx", "pydantic", "typer"}


def test_the_judge_comes_with_the_server_extra(wheels: dict[str, Path]) -> None:
    extra = needed(wheels["verifier_service"], "server")
    assert {"fastapi", "sympy", "latex2sympy2-extended", "python-flint"} <= extra
    assert "torch" not in extra


def test_the_trainer_needs_the_client_and_none_of_the_services_extras(wheels: dict[str, Path]) -> None:
    (service,) = (r for r in requirements(wheels["grpo_trainer"]) if r.name == "verifier-service")
    assert service.extras == set()
    assert "fastapi" not in needed(wheels["grpo_trainer"])


# That of SkyRL is a subclass of its environment, which it has to import.
ADAPTERS = [f"verifier_service.adapters.for_{name}" for name in names_of_adapters() if name != "skyrl"]


@pytest.mark.parametrize(
    "module", ["verifier_service.client", "verifier_service.schema", "verifier_service.cli", *ADAPTERS]
)
def test_importing_the_light_parts_loads_nothing_heavy(module: str) -> None:
    program = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert loaded & {"fastapi", "starlette", "sympy", "flint", "torch", "numpy", "pyarrow"} == set()
    assert module in loaded


@pytest.mark.parametrize("name", ["build", "server", "dev", "trainer", "integrations"])
def test_a_lock_pins_every_line_and_names_no_host(root: Path, name: str) -> None:
    lines = (root / "requirements" / f"{name}.lock").read_text(encoding="ascii").splitlines()
    assert lines
    for line in lines:
        requirement = Requirement(line)
        (pin,) = requirement.specifier
        assert pin.operator == "=="
        assert requirement.url is None
        assert "+" not in pin.version
        assert requirement.name != "torch"


def test_the_server_lock_meets_what_the_server_extra_asks(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lock = dict(
        line.lower().replace("_", "-").split("==")
        for line in (root / "requirements" / "server.lock").read_text(encoding="ascii").splitlines()
    )
    for line in project["dependencies"] + project["optional-dependencies"]["server"]:
        requirement = Requirement(line)
        name = requirement.name.lower().replace("_", "-")
        assert requirement.specifier.contains(lock[name]), f"{line}: locked at {lock[name]}"


def test_the_locks_agree_with_one_another(root: Path) -> None:
    seen: dict[str, str] = {}
    for name in ("build", "server", "dev", "trainer"):
        for line in (root / "requirements" / f"{name}.lock").read_text(encoding="ascii").splitlines():
            package, version = line.split("==")
            assert seen.setdefault(package.lower(), version) == version, f"{package} in {name}.lock"


def test_heavy_packages_are_known_by_the_names_that_the_metadata_uses(wheels: dict[str, Path]) -> None:
    """Guards the tests above: a renamed dependency would make them pass for nothing."""
    everything = {
        requirement.name.lower().replace("_", "-") for requirement in requirements(wheels["verifier_service"])
    }
    assert {"fastapi", "uvicorn", "sympy", "latex2sympy2-extended", "python-flint"} <= everything
    assert needed(wheels["verifier_service"]) & HEAVY == set()
