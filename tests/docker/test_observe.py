"""The dashboard and the alerts speak of metrics that the service has, in words that Prometheus understands."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.redis_server import running_redis
from tests.services import free_port
from tests.verifier_service.server.processes import Served, served

SUFFIXES = {
    "counter": ("_total",),
    "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count"),
}
# Counters with a label have no series before the first event.
MAY_BE_EMPTY = ("verifier_worker_kills_total",)
SCRAPED_S = 30.0
ITEMS = [{"completion": r"\boxed{5}", "gold": "5"}, {"completion": r"\boxed{6}", "gold": "5"}, 5]


@pytest.fixture(scope="module")
def folder(root: Path) -> Path:
    return root / "docker" / "observe"


@pytest.fixture(scope="module")
def dashboard(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / "grafana" / "dashboards" / "verifier.json").read_text())
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def rules(folder: Path) -> list[dict[str, Any]]:
    groups = yaml.safe_load((folder / "rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """With everything that has metrics: a shared Redis, and limits."""
    home = tmp_path_factory.mktemp("observe")
    with (
        running_redis(home) as redis,
        served(home / "log", redis_url=redis.url, rate_items="100000") as found,
    ):
        yield found


def plots(dashboard: dict[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def expressions(dashboard: dict[str, Any]) -> list[str]:
    return [target["expr"] for panel in plots(dashboard) for target in panel["targets"]]


def use(service: Served) -> None:
    with httpx.Client(base_url=service.url, trust_env=False, timeout=30) as client:
        client.post("/score", json={"items": ITEMS}).raise_for_status()
        client.post("/golds", json={"golds": [{"gold": "5"}]}).raise_for_status()


def test_every_metric_that_is_spoken_of_is_there(
    dashboard: dict[str, Any], rules: list[dict[str, Any]], service: Served
) -> None:
    text = httpx.get(f"{service.url}/metrics", trust_env=False).text
    there = {
        family.name + suffix
        for family in text_string_to_metric_families(text)
        for suffix in SUFFIXES[family.type]
    }
    recorded = {rule["record"] for rule in rules if "record" in rule}
    said = "\n".join(expressions(dashboard) + [rule["expr"] for rule in rules])
    assert set(re.findall(r"\bverifier_\w+", said)) <= there
    assert set(re.findall(r"\bverifier:[\w:]+", said)) <= recorded


def test_the_issue_is_covered(dashboard: dict[str, Any]) -> None:
    said = "\n".join(expressions(dashboard))
    for metric in (
        "items_total",
        "methods_total",
        "request_duration_seconds",
        "queue_wait_seconds",
        "cache_hits_total",
        "shared_cache_total",
        "worker_kills_total",
        "event_loop_lag_seconds",
        "nulls_total",
    ):
        assert f"verifier_{metric}" in said or f"verifier:{metric}" in said, metric


def test_panels_have_what_they_need_and_do_not_overlap(dashboard: dict[str, Any], folder: Path) -> None:
    sources = yaml.safe_load((folder / "grafana" / "datasources" / "prometheus.yaml").read_text())
    uids = {source["uid"] for source in sources["datasources"]}
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
    for panel in plots(dashboard):
        assert panel["title"]
        assert panel["datasource"]["uid"] in uids
        assert all(target["datasource"]["uid"] in uids for target in panel["targets"])
        references = [target["refId"] for target in panel["targets"]]
        assert len(references) == len(set(references))


def test_every_alert_says_how_bad_it_is_and_what_to_do(rules: list[dict[str, Any]]) -> None:
    alerts = [rule for rule in rules if "alert" in rule]
    assert alerts
    for alert in alerts:
        assert alert["labels"]["severity"] in ("warning", "critical")
        assert alert["annotations"]["summary"]
        assert alert["annotations"]["description"]


def test_every_alert_is_tried(rules: list[dict[str, Any]], root: Path) -> None:
    tried = (root / "tests" / "docker" / "rules_test.yml").read_text()
    for rule in rules:
        if "alert" in rule:
            assert f"alertname: {rule['alert']}\n" in tried, rule["alert"]


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed (apt-get install prometheus)")
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        "check config docker/observe/prometheus.yml",
        "check rules --lint-fatal docker/observe/rules.yml",
        "test rules tests/docker/rules_test.yml",
    ],
)
def test_prometheus_takes_the_configuration_and_the_alerts_fire_when_they_should(
    root: Path, arguments: str
) -> None:
    done = subprocess.run(
        [program("promtool"), *arguments.split()], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def prometheus(configuration: dict[str, Any], rules: Path, home: Path) -> Iterator[httpx.Client]:
    """A Prometheus of the test's own, with these rules."""
    (home / "rules.yml").write_text(rules.read_text())
    (home / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    port = free_port()
    command = [
        program("prometheus"),
        f"--config.file={home / 'prometheus.yml'}",
        f"--storage.tsdb.path={home / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (
        (home / "log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=10) as client,
    ):
        try:
            yield client
        finally:
            process.terminate()


def result(client: httpx.Client, expression: str) -> list[Any]:
    reply = client.get("/api/v1/query", params={"query": expression})
    assert reply.status_code == 200, f"{expression}: {reply.text}"
    found = reply.json()["data"]["result"]
    assert isinstance(found, list)
    return found


def test_a_real_prometheus_answers_every_panel(
    dashboard: dict[str, Any], service: Served, folder: Path, tmp_path: Path
) -> None:
    configuration = yaml.safe_load((folder / "prometheus.yml").read_text())
    configuration["global"] = {"scrape_interval": "500ms", "evaluation_interval": "500ms"}
    target = service.url.removeprefix("http://")
    configuration["scrape_configs"] = [{"job_name": "verifier", "static_configs": [{"targets": [target]}]}]
    with prometheus(configuration, folder / "rules.yml", tmp_path) as client:
        ends = time.monotonic() + SCRAPED_S
        silent = expressions(dashboard)
        while silent:
            assert time.monotonic() < ends, f"nothing came of {silent}; {(tmp_path / 'log').read_text()}"
            use(service)
            time.sleep(0.3)
            try:
                silent = [
                    expression
                    for expression in silent
                    if not any(name in expression for name in MAY_BE_EMPTY)
                    and not result(client, expression.replace("$__rate_interval", "10s"))
                ]
            except httpx.TransportError:
                continue  # it is starting
        states = client.get("/api/v1/rules").json()["data"]["groups"]
        assert all(rule["health"] == "ok" for group in states for rule in group["rules"])
