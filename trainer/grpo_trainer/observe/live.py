"""The run on a terminal: a panel that moves, or one line a step where the output is a file."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

BARS = "▁▂▃▄▅▆▇█"
CURVE_COLUMNS = 60
SHOWN = {
    "reward/mean": "reward",
    "accuracy": "accuracy",
    "groups/live": "groups with a gradient",
    "outcome/no_verdict": "answers without a verdict",
    "length/mean": "tokens an answer",
    "length/truncated": "truncated",
    "policy/grad_norm": "gradient norm",
    "policy/entropy": "entropy (nats)",
    "policy/kl": "KL to the reference",
}


class View(Protocol):
    """Who is told how a run goes."""

    def say(self, text: str) -> None: ...

    def step(self, step: int, steps: int, metrics: Mapping[str, float]) -> None: ...


class Quiet:
    """Says nothing: for tests and benchmarks."""

    def say(self, text: str) -> None: ...

    def step(self, step: int, steps: int, metrics: Mapping[str, float]) -> None: ...


class LiveView:
    """The view of `grpo train`."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()
        self._rewards: list[float] = []
        self._started = time.monotonic()
        self._live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        """A message that stays; it may come from another thread."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def step(self, step: int, steps: int, metrics: Mapping[str, float]) -> None:
        reward = metrics.get("reward/mean")
        if reward is not None:
            self._rewards.append(reward)
        if self._live is None:
            self._console.print(line_of(step, steps, metrics), highlight=False, markup=False, soft_wrap=True)
        else:
            self._live.update(self._panel(step, steps, metrics), refresh=True)

    def _panel(self, step: int, steps: int, metrics: Mapping[str, float]) -> RenderableType:
        left = (time.monotonic() - self._started) / step * (steps - step)
        top = Table.grid()
        top.add_row(ProgressBar(total=steps, completed=step, width=CURVE_COLUMNS))
        top.add_row(Text(sparkline(self._rewards), style="green"))
        table = Table.grid(padding=(0, 2))
        for name, words in SHOWN.items():
            if name in metrics:
                table.add_row(words, f"[bold]{metrics[name]:.4g}[/bold]")
        title = f"step {step} of {steps}, about {_duration(left)} left"
        return Panel(Group(top, table), title=title)


def line_of(step: int, steps: int, metrics: Mapping[str, float]) -> str:
    """One step in one line, for logs."""
    parts = [f"step {step}/{steps}"]
    parts += [f"{words} {metrics[name]:.4g}" for name, words in SHOWN.items() if name in metrics]
    return "  ".join(parts)


def sparkline(values: list[float], columns: int = CURVE_COLUMNS) -> str:
    """A curve of bars; where there are more values than columns, means of neighbours."""
    if not values:
        return ""
    size = max(1, -(-len(values) // columns))
    means = [sum(values[i : i + size]) / len(values[i : i + size]) for i in range(0, len(values), size)]
    low, high = min(means), max(means)
    spread = (high - low) or 1.0
    return "".join(BARS[int((mean - low) / spread * (len(BARS) - 1))] for mean in means)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
