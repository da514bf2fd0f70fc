"""What uvicorn leaves without a bound: the head of a request, the rest of a refused one, a reply that nobody reads.

None of it needs a key: one sender could fill the memory with header fields, or hold descriptors and replies for ever.
"""

import asyncio

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from verifier_service.server.problems import ProblemError, problem_response
from verifier_service.server.settings import variable

MOST_HEAD = 65536


def protocol_within(receive_s: float) -> type[HttpToolsProtocol]:
    """The protocol of a service whose senders have so many seconds for a head, and as many to take up a reply."""
    return type("BoundedProtocol", (BoundedProtocol,), {"receive_s": receive_s})


class BoundedProtocol(HttpToolsProtocol):
    """One connection. The body of a request that is being answered is the business of body.py."""

    receive_s: float
    _unparsed = 0  # bytes since something was complete: a head, a piece of a body, a message
    _in_head = False
    _in_message = False
    _alarm: asyncio.TimerHandle | None = None
    _reader_alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._relax()
        self._reader_is_awake()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > MOST_HEAD:
            self._refuse(431, "head-too-large", f"the head of the request is larger than {MOST_HEAD} bytes")
        elif self._unparsed or self._in_head:
            self._expect()

    def on_message_begin(self) -> None:
        self._in_head = self._in_message = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._unparsed = 0
        self._relax()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        if not self.cycle.response_complete:
            self._relax()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_message = False
        self._unparsed = 0
        self._relax()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_message and self.cycle.response_complete:
            self._expect()  # the rest of a body that nobody wants must not go on for ever

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        self._reader_is_awake()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "bad-request", msg)

    def _expect(self) -> None:
        if self._alarm is None:
            self._alarm = self.loop.call_later(self.receive_s, self._give_up)

    def _relax(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _give_up(self) -> None:
        if self._in_head:
            setting = variable("receive_s")
            detail = f"the head of the request did not come within {self.receive_s:g} s ({setting})"
            self._refuse(408, "head-too-slow", detail)
        else:
            self.transport.close()

    def _refuse(self, status: int, name: str, detail: str) -> None:
        if self.transport.is_closing():
            return
        # In the middle of the reply to an earlier request there is no place for another one.
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_written(problem_response(ProblemError(status, name, detail), "")))
        self.transport.close()

    def _watch_reader(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._reader_alarm = self.loop.call_later(self.receive_s, self._look_at_reader, left)

    def _look_at_reader(self, left: int) -> None:
        if self.transport.get_write_buffer_size() < left:
            self._watch_reader()
        else:
            self.transport.abort()

    def _reader_is_awake(self) -> None:
        if self._reader_alarm is not None:
            self._reader_alarm.cancel()
            self._reader_alarm = None


def _written(response: Response) -> bytes:
    """The last reply of a connection, as it goes over the wire."""
    fields = [*response.raw_headers, (b"connection", b"close")]
    lines = [name + b": " + value + b"\r\n" for name, value in fields]
    return STATUS_LINE[response.status_code] + b"".join(lines) + b"\r\n" + bytes(response.body)
