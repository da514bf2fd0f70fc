"""Keys that come and go while the service runs."""

import logging
import os
from pathlib import Path

import pytest

from tests.verifier_service.server.fakes import Started
from verifier_service.keyfile import Key, KeyFileError, digest_of, write_keys
from verifier_service.server.keyring import Keyring


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def write(path: Path, *names: str) -> None:
    """Keys that are called as they are spelt."""
    write_keys(path, [Key(name, digest_of(name.encode())) for name in names])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    write(path, "alice", "bob")
    return path


def test_each_key_has_a_name_and_nothing_else_has(file: Path) -> None:
    ring = Keyring("one", file)
    assert [ring.holder(key) for key in (b"one", b"alice", b"bob")] == ["default", "alice", "bob"]
    assert [ring.holder(key) for key in (b"", b"carol", b"alice ", b"ALICE", b"\xff")] == [None] * 5


def test_a_changed_file_holds_within_a_second_without_a_restart(file: Path, clock: Clock) -> None:
    ring = Keyring(None, file, clock=clock)
    write(file, "bob", "carol")
    assert ring.holder(b"alice") == "alice"
    clock.now = 1.0
    assert [ring.holder(key) for key in (b"alice", b"bob", b"carol")] == [None, "bob", "carol"]
    write(file)
    clock.now = 2.0
    assert ring.holder(b"bob") is None
    assert ring.guards


@pytest.mark.parametrize("spoilt", [None, "no key at all"])
def test_a_file_that_cannot_be_read_changes_nothing_and_is_told(
    file: Path, clock: Clock, spoilt: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    ring = Keyring(None, file, clock=clock)
    if spoilt is None:
        file.unlink()
    else:
        file.write_text(spoilt)
    for clock.now in (1.0, 2.0, 3.0):
        assert ring.holder(b"alice") == "alice"
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    write(file, "carol")
    clock.now = 4.0
    assert [ring.holder(b"alice"), ring.holder(b"carol")] == [None, "carol"]


def test_a_file_that_is_not_there_at_the_start_stops_it(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError):
        Keyring(None, tmp_path / "keys")


def test_without_keys_nothing_is_guarded() -> None:
    assert not Keyring(None, None).guards


def test_keys_of_the_file_open_the_service_and_an_empty_file_closes_it(started: Started, file: Path) -> None:
    client = started(keys_file=file)
    for key, status in (("alice", 200), ("bob", 200), ("carol", 401)):
        reply = client.post("/score", json={"items": []}, headers={"Authorization": f"Bearer {key}"})
        assert reply.status_code == status
    assert client.post("/score", json={"items": []}).status_code == 401
    assert client.get("/healthz").status_code == 200
    write(file)
    client = started(keys_file=file)
    assert client.get("/info", headers={"Authorization": "Bearer alice"}).status_code == 401


def test_the_file_is_looked_at_again_even_where_its_time_does_not_change(file: Path, clock: Clock) -> None:
    ring = Keyring(None, file, clock=clock)
    before = file.stat()
    write(file, "carol", "dave-and-more")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    clock.now = 1.0
    assert ring.holder(b"carol") == "carol"
