"""How long calls take, to tell how long a queue of them is."""

FIRST_GUESS_S = 0.001
# Calls, of which the older ones fade: few enough to follow from quick items to heavy ones within a few chunks.
MEMORY = 128


class Pace:
    """Seconds of a worker that one call takes, over the last calls."""

    def __init__(self) -> None:
        self.call_s = FIRST_GUESS_S

    def note(self, calls: int, seconds: float) -> None:
        """A worker has been busy for so long with so many calls."""
        if calls:
            self.call_s += min(1.0, calls / MEMORY) * (seconds / calls - self.call_s)
