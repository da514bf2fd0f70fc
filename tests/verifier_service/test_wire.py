"""What another process of the pool says is data, never code."""

import pickle
import subprocess
from typing import Any

import pytest

from verifier_service.equivalence import GoldCheck
from verifier_service.judge import Judgement
from verifier_service.workers.wire import HEADER, MOST_BYTES, Frames, framed

RESULTS = [
    (1, 0, Judgement(1.0, {"accuracy": 1.0}, {"accuracy": None}, "correct", "5", "exact", "equal", ("w",))),
    (2, 0, GoldCheck(True, "number", None, "")),
    (3, 2, "ValueError at judge.py:1"),
]


def test_results_come_through_in_pieces_of_any_size() -> None:
    sent = bytes(framed((RESULTS, True))) + bytes(framed(([], False)))
    for size in (1, 7, len(sent)):
        frames = Frames()
        heard = [message for at in range(0, len(sent), size) for message in frames.feed(sent[at : at + size])]
        assert heard == [(RESULTS, True), ([], False)]


class Calls:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self._reduced = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reduced


def dotted(module: str, name: str) -> bytes:
    """A pickle that names something within a module of ours."""
    parts = [b"\x8c" + bytes([len(part)]) + part.encode() for part in (module, name)]
    return b"\x80\x04" + b"".join(parts) + b"\x93."


@pytest.mark.parametrize(
    "message",
    [
        pickle.dumps(Calls(print, "heard")),
        pickle.dumps(Calls(subprocess.Popen, ["true"])),
        pickle.dumps(Calls(getattr, "", "join")),
        dotted("verifier_service.workers.spawner", "subprocess.Popen"),
        dotted("verifier_service.workers.wire", "read_frame"),
        dotted("verifier_service.keyfile", "write_keys"),
        dotted("verifier_service.workers.handle", "Worker"),
        dotted("verifier_service_of_another", "Judgement"),
    ],
    ids=range(8),
)
def test_no_message_names_a_function(message: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(pickle.UnpicklingError):
        Frames().feed(HEADER.pack(len(message)) + message)
    assert capsys.readouterr().out == ""


def test_a_message_without_an_end_is_not_waited_for() -> None:
    with pytest.raises(pickle.UnpicklingError):
        Frames().feed(HEADER.pack(MOST_BYTES + 1))
