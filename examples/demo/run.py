"""The demo: start the judge on this machine, score the shipped rollouts over HTTP, show each verdict.

On a terminal the service stays up until Ctrl-C, to be tried by hand; without one it is stopped.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table
from rich.text import Text

from verifier_service.client import Client
from verifier_service.schema import Result

HERE = Path(__file__).resolve().parent
LOG = HERE.parent.parent / ".demo" / "service.log"
START_S = 60
STOP_S = 15
COLOURS = {"correct": "green", "incorrect": "red", "no_answer": "yellow", None: "magenta"}


class DemoError(Exception):
    """What went wrong, in words for the person at the terminal."""


def main() -> int:
    args = arguments()
    signal.signal(signal.SIGTERM, stop_on_signal)
    console = Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 140)
    items = read_items(args.rollouts)
    try:
        with service(args.port) as url:
            began = time.perf_counter()
            with Client(url) as client:
                results = client.score(items).results
            seconds = time.perf_counter() - began
            console.print(table(items, results, console.width))
            console.print(summary(results, seconds), soft_wrap=True)
            console.print(f"The judge is at {url} (its documentation: {url}/docs).", soft_wrap=True)
            if sys.stdout.isatty() and sys.stdin.isatty():
                keep_serving(console)
    except DemoError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0 if all(result.status == "ok" for result in results) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="wanted port; a taken one is not used")
    parser.add_argument("--rollouts", type=Path, default=HERE / "rollouts.jsonl", help="items, one a line")
    return parser.parse_args()


def read_items(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


@contextmanager
def service(wanted: int) -> Iterator[str]:
    """The service as a process of its own, ready to answer; its address. It ends with the block."""
    port = wanted if is_free(wanted) else free_port()
    if port != wanted:
        print(f"Port {wanted} is taken; using {port}.")
    url = f"http://127.0.0.1:{port}"
    LOG.parent.mkdir(exist_ok=True)
    verifier = Path(sys.executable).with_name("verifier")
    command = [str(verifier), "serve", "--host", "127.0.0.1", "--port", str(port)]
    with LOG.open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            wait_until_ready(process, url)
            yield url
        finally:
            stop(process)


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the service binds: an address that only waits out an old connection counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + START_S
    with httpx.Client(trust_env=False, timeout=2) as client:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise DemoError(
                    f"the service ended with code {process.returncode}:\n{LOG.read_text()[-2000:]}"
                )
            try:
                if client.get(f"{url}/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                pass  # not listening yet
            time.sleep(0.1)
    raise DemoError(f"the service was not ready within {START_S} s; its log: {LOG}")


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()


def table(items: Sequence[dict[str, Any]], results: Sequence[Result], width: int) -> Table:
    """One line a rollout. Model text is shown as plain text, never as markup."""
    side = 22 if width >= 110 else 13
    room = max(16, width - 2 * side - 42)  # 42: the other columns and the lines between
    shown = Table(title="SmolLM2-135M-Instruct, judged", header_style="bold")
    shown.add_column("completion", no_wrap=True, width=room)
    for name in ("gold", "answer"):
        shown.add_column(name, no_wrap=True, overflow="ellipsis", max_width=side)
    for name in ("verdict", "method"):
        shown.add_column(name, no_wrap=True)
    shown.add_column("ms", justify="right", no_wrap=True)
    for item, result in zip(items, results, strict=True):
        shown.add_row(*row(item, result, room))
    return shown


def row(item: dict[str, Any], result: Result, room: int) -> list[Text]:
    verdict = result.verdict or (result.error.code if result.error else "no verdict")
    return [
        Text(ending(item["completion"], room)),
        Text(one_line(str(item["gold"]))),
        Text(one_line(result.extracted or "")),
        Text(verdict.replace("_", " "), style=COLOURS[result.verdict]),
        Text(result.method or ""),
        Text(f"{result.elapsed_ms:.1f}"),
    ]


def one_line(text: str) -> str:
    return "".join(mark if mark.isprintable() else " " for mark in text)


def ending(text: str, width: int) -> str:
    """The last `width` characters: a completion ends with its answer."""
    flat = one_line(" ".join(text.split()))
    return flat if len(flat) <= width else "…" + flat[-(width - 1) :]


def summary(results: Sequence[Result], seconds: float) -> str:
    verdicts = Counter(result.verdict for result in results)
    rewards = [result.reward for result in results if result.reward is not None]
    mean = sum(rewards) / len(rewards) if rewards else 0.0
    return (
        f"{len(results)} rollouts in {seconds:.2f} s: {verdicts['correct']} correct, "
        f"{verdicts['incorrect']} incorrect, {verdicts['no_answer']} no answer, "
        f"{verdicts[None]} without a verdict; mean reward {mean:.3f}."
    )


def keep_serving(console: Console) -> None:
    console.print("It keeps serving until you press Ctrl-C.")
    try:
        signal.pause()
    except KeyboardInterrupt:
        console.print("\nStopped.")


def stop_on_signal(number: int, frame: FrameType | None) -> None:
    """SIGTERM ends the demo through its `finally` clauses, so that the service goes with it."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    os.environ.pop("VERIFIER_API_KEY", None)  # the demo's own service has no key
    sys.exit(main())
