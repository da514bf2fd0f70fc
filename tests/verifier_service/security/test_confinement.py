"""From inside a worker of a real service: what code there can do, in Python and past Python."""

import ctypes
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.verifier_service.faults.traffic import batch, nulls_of, post, ready_again
from tests.verifier_service.security.conftest import KEY, SECRETS
from tests.verifier_service.server.processes import Served

LANDLOCK = sys.platform == "linux" and ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)
OLD_KERNEL = "this kernel has no Landlock of version 6 (Linux 6.12)"


def said_by(client: httpx.Client, *deed: Any) -> str:
    """The words with which the item ends that does this, beside others that are judged."""
    reply = post(client, batch("inside", 8, {3: list(deed)}))
    assert nulls_of(reply, "inside", 8) == {3: "internal"}
    message: str = reply.json()["results"][3]["error"]["message"]
    return message


@pytest.mark.parametrize(
    "deed",
    [
        ["fork"],
        ["system", "true"],
        ["exec"],
        ["write", "/tmp/verifier-was-here"],
        ["connect", 9],
        ["read", "/proc/1/environ"],
        ["read", "/proc/self/../1/environ"],
    ],
    ids=str,
)
def test_python_code_in_a_worker_starts_writes_and_reaches_nothing(
    holder: httpx.Client, deed: list[Any]
) -> None:
    assert "PermissionError: a worker may not" in said_by(holder, *deed)
    assert not Path("/tmp/verifier-was-here").exists()


@pytest.mark.skipif(LANDLOCK < 6, reason=OLD_KERNEL)
def test_code_in_c_writes_no_file_and_executes_none(holder: httpx.Client, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("as it was")
    assert "Permission denied" in said_by(holder, "call_c", "creat", str(tmp_path / "new"), 0o600)
    assert "Permission denied" in said_by(holder, "call_c", "open", str(file), os.O_WRONLY)
    assert "Permission denied" in said_by(holder, "call_c", "unlink", str(file))
    assert "Permission denied" in said_by(holder, "call_c", "execl", "/bin/true", "true", 0)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert file.read_text() == "as it was"


@pytest.mark.skipif(LANDLOCK < 6, reason=OLD_KERNEL)
def test_code_in_c_reaches_nobody(holder: httpx.Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        assert "Permission denied" in said_by(holder, "connect_in_c", listener.getsockname()[1])
        with pytest.raises(TimeoutError):
            listener.accept()


@pytest.mark.skipif(LANDLOCK < 6, reason=OLD_KERNEL)
def test_code_in_c_neither_signals_the_service_nor_reads_its_variables(
    guarded: Served, holder: httpx.Client
) -> None:
    pid = guarded.process.pid
    assert f"VERIFIER_API_KEY={KEY}" in Path(f"/proc/{pid}/environ").read_text()
    assert "Operation not permitted" in said_by(holder, "call_c", "kill", pid, int(signal.SIGTERM))
    assert "Permission denied" in said_by(holder, "call_c", "open", f"/proc/{pid}/environ", os.O_RDONLY)
    assert guarded.process.poll() is None


@pytest.mark.parametrize("name", ["VERIFIER_API_KEY", *SECRETS])
def test_no_secret_is_in_the_environment_of_a_worker(holder: httpx.Client, name: str) -> None:
    assert said_by(holder, "variable", name).endswith("shown: None")


def test_what_is_no_secret_is(holder: httpx.Client) -> None:
    assert said_by(holder, "variable", "REWARD_TABLE").endswith("shown: kept")


def test_a_message_of_its_own_making_runs_nothing_in_the_service(
    holder: httpx.Client, tmp_path: Path
) -> None:
    marker = tmp_path / "made"
    reply = post(holder, batch("sent", 8, {3: ["send", str(marker)]}))
    assert nulls_of(reply, "sent", 8) == {3: "worker_lost"}
    assert not marker.exists()
    assert ready_again(holder)
