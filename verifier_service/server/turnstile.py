"""Large bodies are decoded one at a time, and not in a row: a probe waits behind one of them, not behind all."""

import asyncio

BYTES_IN_A_ROW = 2 << 20


class Turnstile:
    """For one event loop. Lets bodies through in the order in which they came."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._in_a_row = 0

    async def pass_through(self, size: int) -> None:
        """Returns at once, or after others have had their turn where much has gone through before."""
        async with self._lock:
            self._in_a_row += size
            if self._in_a_row > BYTES_IN_A_ROW:
                self._in_a_row = 0
                await asyncio.sleep(0)
