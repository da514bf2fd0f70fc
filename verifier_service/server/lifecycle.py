"""The end and the renewal of a serving process: SIGTERM drains it, SIGHUP has it read its files again."""

import signal
import time
from collections.abc import Callable
from types import FrameType

import uvicorn

# For the last replies to be written after the judging has been cut short.
LAST_WORDS_S = 2


class DrainingServer(uvicorn.Server):
    """A server that says first that it is going, and then goes.

    At SIGTERM `on_drain` is called at once; for `drain_s` connections are still taken, so that balancers
    learn of it by asking; then the listener is closed, `on_leave` is called, and requests in flight end.
    A second signal, or Ctrl-C, skips the waiting. At SIGHUP `on_renew` is called in the event loop.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        drain_s: float,
        on_drain: Callable[[], None],
        on_leave: Callable[[], None],
        on_renew: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._drain_s = drain_s
        self._on_drain = on_drain
        self._on_leave = on_leave
        self._on_renew = on_renew
        self._leave_at: float | None = None
        self._renewal_wanted = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Runs between two bytecodes of anything: it sets flags, and the tick does the rest."""
        first = self._leave_at is None
        self._on_drain()
        if sig == signal.SIGTERM and first:
            self._captured_signals.append(sig)
            self._leave_at = time.monotonic() + self._drain_s
            return
        super().handle_exit(sig, frame)

    def renew_at_next_tick(self, sig: int, frame: FrameType | None) -> None:
        """The handler of SIGHUP."""
        self._renewal_wanted = True

    async def on_tick(self, counter: int) -> bool:
        if self._renewal_wanted:
            self._renewal_wanted = False
            self._on_renew()
        if self._leave_at is not None and time.monotonic() >= self._leave_at:
            self.should_exit = True
        leaving = await super().on_tick(counter)
        if leaving:
            self._on_leave()
        return leaving
