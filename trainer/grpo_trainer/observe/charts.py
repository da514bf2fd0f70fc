"""Line charts as inline SVG.

Written out rather than taken from a plotting library: a chart here is two axes and some lines, and the report
must open without a network, without scripts, and with nothing to install.
"""

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, isfinite, log10

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 460, 200
LEFT, RIGHT, TOP, BOTTOM = 52, 10, 10, 24
COLOURS = ("#1f6feb", "#cf222e", "#1a7f37", "#9a6700")
SMOOTHING = 0.85


def chart(title: str, series: Mapping[str, Points]) -> str:
    """A titled chart; each line is drawn faint as it is and strong as its moving average."""
    series = {name: [(x, y) for x, y in points if isfinite(y)] for name, points in series.items()}
    drawn = {name: points for name, points in series.items() if points}
    if not drawn:
        return ""
    xs = [x for points in drawn.values() for x, _ in points]
    ys = [y for points in drawn.values() for _, y in points]
    frame = _Frame(min(xs), max(xs), *_padded(min(ys), max(ys)))
    lines = [
        _line(frame, points, COLOURS[number % len(COLOURS)]) for number, points in enumerate(drawn.values())
    ]
    names = list(drawn) if len(drawn) > 1 else []
    return (
        f"<figure><figcaption>{escape(title)}{_legend(names)}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"{frame.axes()}{''.join(lines)}</svg></figure>"
    )


class _Frame:
    """From values to places on the page."""

    def __init__(self, left: float, right: float, low: float, high: float) -> None:
        self.left, self.right, self.low, self.high = left, right, low, high

    def x(self, value: float) -> float:
        return LEFT + (value - self.left) / ((self.right - self.left) or 1) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return TOP + (self.high - value) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)

    def axes(self) -> str:
        parts = []
        for tick in ticks(self.low, self.high):
            y = self.y(tick)
            parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{y + 3:.1f}" class="end">{tick:g}</text>')
        parts += [
            f'<text x="{self.x(tick):.1f}" y="{HEIGHT - 6}" class="middle">{tick:g}</text>'
            for tick in ticks(self.left, self.right)
        ]
        return "".join(parts)


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round numbers between two bounds."""
    if high <= low:
        return [low]
    raw = (high - low) / count
    scale = 10.0 ** floor(log10(raw))
    step = next(scale * m for m in (1, 2, 5, 10) if scale * m >= raw)
    first = -floor(-low / step)
    return [round(n * step, 12) for n in range(first, floor(high / step + 1e-9) + 1)]


def smoothed(points: Points) -> list[tuple[float, float]]:
    """Moving average with exponential weights, unbiased at its beginning."""
    result, total, weight = [], 0.0, 0.0
    for x, y in points:
        total, weight = SMOOTHING * total + y, SMOOTHING * weight + 1
        result.append((x, total / weight))
    return result


def _line(frame: _Frame, points: Points, colour: str) -> str:
    def path(some: Points, width: float, opacity: float) -> str:
        places = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in some)
        return (
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width}" '
            f'stroke-opacity="{opacity}"/>'
        )

    return path(points, 1, 0.3) + path(smoothed(points), 2, 1)


def _padded(low: float, high: float) -> tuple[float, float]:
    margin = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    return low - margin, high + margin


def _legend(names: Sequence[str]) -> str:
    parts = [
        f'<span style="color:{COLOURS[number % len(COLOURS)]}">{escape(name)}</span>'
        for number, name in enumerate(names)
    ]
    return f" ({', '.join(parts)})" if parts else ""
