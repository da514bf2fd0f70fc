"""What every test may use, and the rule that a skip is a failure where services are required."""

import os
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
REQUIRED = bool(os.environ.get("REQUIRE_SERVICES"))

# The data sets are not ours to ship, so their absence is the one thing that never fails a run.
MAY_BE_MISSING = "MATH_DATA_DIR"

_skipped: list[str] = []

# A shell starts what runs in its background with Ctrl-C ignored, and what the tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def math_data() -> Path:
    """Folder of the public data sets (docs/data.md)."""
    folder = os.environ.get("MATH_DATA_DIR")
    if not folder:
        pytest.skip(f"{MAY_BE_MISSING} is not set (docs/data.md)")
    return Path(folder)


def _note_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and MAY_BE_MISSING not in str(report.longrepr):
        _skipped.append(f"{report.nodeid}: {_reason(report)}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note_skip(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note_skip(report)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if REQUIRED and _skipped and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if REQUIRED and _skipped:
        terminalreporter.section("skipped, which REQUIRE_SERVICES forbids", red=True)
        for line in _skipped:
            terminalreporter.line(line)
