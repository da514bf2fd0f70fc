"""The service in a process of its own, started by `verifier serve`."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.services import STOP_S, VERIFIER, free_port, wait_until_ready

COMMAND = (str(VERIFIER), "serve")


@dataclass
class Served:
    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def said(self, pattern: str) -> bool:
        return re.search(pattern, self.log.read_text()) is not None


def environment(**settings: str) -> dict[str, str]:
    """That of the tests, with these settings of the service and no others."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VERIFIER_")}
    return {**kept, **{f"VERIFIER_{name.upper()}": value for name, value in settings.items()}}


@contextmanager
def served(log: Path, **settings: str) -> Iterator[Served]:
    """A service with these settings, ready; ended afterwards if it still runs."""
    env = environment(**{"port": str(free_port()), "workers": "1"} | settings)
    url = f"http://127.0.0.1:{env['VERIFIER_PORT']}"
    with (
        log.open("wb") as output,
        subprocess.Popen(COMMAND, env=env, stdout=output, stderr=output) as process,
    ):
        try:
            wait_until_ready(process, url, log)
            yield Served(url, process, log)
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
