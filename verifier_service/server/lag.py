"""How late the event loop is: what every other request waits for, the probes included."""

import asyncio
import time

from verifier_service.spread import Spread

EVERY_S = 0.25


async def watch_lag(lag: Spread) -> None:
    """Measures until it is cancelled."""
    while True:
        began = time.monotonic()
        await asyncio.sleep(EVERY_S)
        lag.add(max(0.0, time.monotonic() - began - EVERY_S))
