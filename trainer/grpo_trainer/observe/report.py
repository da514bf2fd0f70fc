"""The report of a run: one HTML file that needs nothing else."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from grpo_trainer.observe.charts import chart
from grpo_trainer.observe.metrics import read_metrics

CHARTS: dict[str, dict[str, str]] = {
    "Mean reward": {"reward/mean": "reward"},
    "Accuracy": {"accuracy": "accuracy"},
    "Groups": {
        "groups/live": "with a gradient",
        "groups/all_right": "all right",
        "groups/all_wrong": "all wrong",
    },
    "Answers without a verdict": {"outcome/no_verdict": "answers"},
    "Tokens an answer": {"length/right": "right", "length/wrong": "wrong", "length/mean": "all"},
    "Truncated answers": {"length/truncated": "share"},
    "Entropy (nats a token)": {"policy/entropy": "entropy"},
    "KL to the reference (nats a token)": {"policy/kl": "KL"},
    "Gradient norm before clipping": {"policy/grad_norm": "norm"},
    "Clipped tokens": {"policy/clipped_low": "low", "policy/clipped_high": "high"},
    "Seconds a step": {
        "time/generate": "generation",
        "time/wait_for_verdicts": "waiting for verdicts",
        "time/update": "update",
    },
}
WINDOW = 10
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2rem auto; padding: 0 1rem; }
main { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { font-weight: 600; }
svg { width: 100%; } svg text { font-size: 10px; fill: currentColor; }
.grid { stroke: currentColor; stroke-opacity: .15; } .end { text-anchor: end; } .middle { text-anchor: middle; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; text-align: left; }
pre { white-space: pre-wrap; background: #8881; padding: .5rem; }
"""


def write_report(folder: Path, title: str = "A run of GRPO") -> Path:
    """report.html beside the metrics of a run; what it shows is read from the files there."""
    rows = read_metrics(folder / "metrics.jsonl")
    manifest = _json(folder / "run.json")
    path = folder / "report.html"
    path.write_text(page(title, rows, manifest, _completions(folder / "completions.jsonl")), encoding="utf-8")
    return path


def page(
    title: str,
    rows: Sequence[Mapping[str, Any]],
    manifest: Mapping[str, Any],
    completions: Sequence[Mapping[str, Any]],
) -> str:
    """The whole page."""
    charts = "".join(
        chart(name, {words: [(r["step"], r[key]) for r in rows if key in r] for key, words in keys.items()})
        for name, keys in CHARTS.items()
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
        f"<h1>{escape(title)}</h1>{_summary(rows)}<main>{charts}</main>"
        f"{_shown(completions)}<h2>What ran</h2><pre>{escape(json.dumps(manifest, indent=1))}</pre></html>\n"
    )


def first_and_last(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[float, float] | None:
    """Means of a metric over the first and the last few steps that have it."""
    values = [row[name] for row in rows if name in row]
    if not values:
        return None
    window = min(WINDOW, len(values))
    return sum(values[:window]) / window, sum(values[-window:]) / window


def _summary(rows: Sequence[Mapping[str, Any]]) -> str:
    names = ("reward/mean", "accuracy", "length/mean", "length/truncated", "policy/entropy")
    lines = [
        f"<tr><td>{name}<td>{pair[0]:.3f}<td>{pair[1]:.3f}"
        for name in names
        if (pair := first_and_last(rows, name)) is not None
    ]
    steps = rows[-1]["step"] if rows else 0
    head = f"<tr><th>{steps} steps<th>first {WINDOW}<th>last {WINDOW}"
    return f"<table>{head}{''.join(lines)}</table>"


def _shown(completions: Sequence[Mapping[str, Any]]) -> str:
    """Answers from the beginning and from the end."""
    some = [*completions[:3], *completions[3:][-3:]]
    parts = [
        f"<p>Step {row['step']}: {row['outcome'].replace('_', ' ')}, reward {row['reward']}, gold "
        f"{escape(str(row['gold']))}</p><pre>{escape(row['prompt'])}<b>{escape(row['completion'])}</b></pre>"
        for row in some
    ]
    return f"<h2>Answers, first and last</h2>{''.join(parts)}" if parts else ""


def _completions(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
