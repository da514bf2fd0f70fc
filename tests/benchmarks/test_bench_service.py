"""The benchmarks of the service, each in its smallest form: they run, and their last lines say what they found."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

ROWS = [
    {"id": str(number), "question": f"What is $3 + {number}$?", "answer": str(number + 3)}
    for number in range(40)
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "small.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return folder


def run(root: Path, data: Path, script: str, *options: str) -> tuple[str, dict[str, object]]:
    """The last line and the figures of a benchmark that ends well."""
    out = data.parent / "out.json"
    command = [
        sys.executable,
        str(root / "benchmarks" / script),
        *options,
        "--workers",
        "1",
        "--json",
        str(out),
    ]
    environment = {**os.environ, "MATH_DATA_DIR": str(data)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1], json.loads(out.read_text(encoding="utf-8"))


def test_the_service_is_measured_against_its_peer_and_decoding(root: Path, data: Path) -> None:
    pytest.importorskip("math_verify")
    small = ("--parts", "throughput", "--rounds", "1", "--bodies", "1", "--items", "32")
    last, figures = run(root, data, "bench_service.py", *small)
    assert re.match(r"bench_service ratio=\d+\.\d ours=\d+ peer=\d+\.\d warm=\d+ decode_ratio=", last)
    found = figures["throughput"]
    assert isinstance(found, dict)
    assert found["ours_unlike"] == found["ours_faults"] == 0
    assert {"decide", "split", "key", "transport, loop, HTTP"} <= set(found["breakdown_us"])


def test_probes_and_memory_are_measured_beside_traffic(root: Path, data: Path) -> None:
    small = ("--parts", "probes", "memory", "--items", "64", "--probe-s", "2", "--memory-items", "1000")
    last, figures = run(root, data, "bench_service.py", *small)
    assert re.match(r"bench_service healthz_p99=\d+\.\d growth=-?\d", last)
    probes, memory = figures["probes"], figures["memory"]
    assert isinstance(probes, dict)
    assert isinstance(memory, dict)
    assert probes["probes"] > 20
    assert len(memory["pss_mb"]) == 20


def test_overload_and_poison_lose_nothing(root: Path, data: Path) -> None:
    small = ("--seconds", "2", "--peak-s", "1", "--poison-s", "2", "--size", "500")
    last, figures = run(root, data, "bench_overload.py", *small)
    assert re.match(r"bench_overload goodput=\d+\.\d+ p99_s=", last)
    for found in (figures["overload"], figures["poison"]):
        assert isinstance(found, dict)
        assert found["lost"] == found["misplaced"] == 0


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
def test_every_layer_of_the_cache_is_measured(root: Path, data: Path) -> None:
    last, figures = run(root, data, "bench_cache.py", "--bodies", "1", "--items", "32")
    assert re.match(r"bench_cache memory=\d+\.\d redis=\d+\.\d answers_of_sympy=\d+\.\d judging_us=\d+", last)
    assert {"none", "memory", "redis", "equal ones in a batch"} <= set(figures)


def test_a_soak_counts_what_it_sent_and_what_the_service_holds(root: Path, data: Path) -> None:
    last, figures = run(root, data, "soak.py", "--minutes", "0.1")
    assert last.startswith("soak minutes=0.1 good_items=")
    assert figures["lost"] == figures["misplaced"] == 0
    assert figures["statuses"] == {"200": figures["good_items"] // 64}  # type: ignore[operator]
