"""What is counted, under which names."""

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from tests.verifier_service.server.fakes import Started
from verifier_service.spread import Spread

ITEMS = [{"completion": "5", "gold": "5"}, {"completion": "6", "gold": "5"}, 5]


def samples(client: TestClient) -> dict[tuple[str, ...], float]:
    """Values by name and labels: ("verifier_items_total", "correct", "accuracy")."""
    text = client.get("/metrics").text
    return {
        (sample.name, *(str(value) for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_items_are_counted_by_verdict_and_profile(client: TestClient) -> None:
    client.post("/score?profile=r1-zero", json={"items": ITEMS})
    client.post("/score", json={"items": ITEMS[:1]})
    found = samples(client)
    assert found["verifier_items_total", "r1-zero", "correct"] == 1
    assert found["verifier_items_total", "r1-zero", "incorrect"] == 1
    assert found["verifier_items_total", "r1-zero", "null"] == 1
    assert found["verifier_items_total", "accuracy", "correct"] == 1
    assert found["verifier_nulls_total", "invalid_item"] == 1
    assert found["verifier_batch_items_sum",] == 4
    assert found["verifier_body_bytes_total",] > 0
    assert found["verifier_decode_seconds_count",] == 2


def test_requests_are_counted_by_route_and_status(client: TestClient) -> None:
    client.post("/score", json={"items": []})
    client.post("/score", json={})
    client.get("/made/up")
    client.get("/made/up/again")
    found = samples(client)
    assert found["verifier_requests_total", "/score", "200"] == 1
    assert found["verifier_requests_total", "/score", "422"] == 1
    assert found["verifier_requests_total", "other", "404"] == 2
    assert found["verifier_request_duration_seconds_count", "/score"] == 2


def test_workers_cache_and_golds_have_their_numbers(client: TestClient) -> None:
    client.post("/golds", json={"golds": [{"gold": 1}, {}]})
    found = samples(client)
    assert found["verifier_golds_total", "true"] == 1
    assert found["verifier_golds_total", "false"] == 1
    assert found["verifier_ready",] == 1
    assert found["verifier_workers", "ready"] == 2
    assert found["verifier_worker_kills_total", "cpu"] == 3
    assert found["verifier_cache_hits_total",] == 5
    assert found["verifier_cache_entries",] == 1


def test_every_metric_has_the_prefix_and_a_help(client: TestClient) -> None:
    for family in text_string_to_metric_families(client.get("/metrics").text):
        assert family.name.startswith("verifier_")
        assert family.documentation


def test_labels_do_not_grow_with_what_is_sent(client: TestClient) -> None:
    for weight in range(5):
        client.post(
            "/score", json={"items": ITEMS[:1], "profile": {"rewards": {"accuracy": {"weight": weight}}}}
        )
    inline = [key for key in samples(client) if key[0] == "verifier_items_total"]
    assert inline == [("verifier_items_total", "inline", "correct")]


def test_each_app_counts_for_itself(started: Started) -> None:
    one, other = started(), started()
    one.post("/score", json={"items": ITEMS})
    assert ("verifier_items_total", "accuracy", "correct") not in samples(other)


def test_stats_are_the_same_numbers_as_small_json(client: TestClient) -> None:
    client.post("/score", json={"items": ITEMS})
    stats = client.get("/stats").json()
    assert stats["items"] == {"correct": 1, "incorrect": 1, "null": 1}
    assert stats["nulls"] == {"invalid_item": 1}
    assert stats["requests"]["200"] == 1
    assert stats["workers"] == {"ready": 2}
    assert stats["kills"] == {"cpu": 3}
    assert stats["cache"] == {"hits": 5, "entries": 1}
    assert stats["ready"] is True
    assert stats["uptime_s"] >= 0


def test_waits_lag_and_methods_have_their_numbers(client: TestClient) -> None:
    client.post("/score", json={"items": ITEMS})
    found = samples(client)
    assert found["verifier_queue_wait_seconds_count",] == 0
    assert ("verifier_queue_wait_seconds_bucket", "+Inf") in found
    assert ("verifier_event_loop_lag_seconds_sum",) in found
    assert found["verifier_item_seconds_count",] == 2
    assert found["verifier_item_seconds_sum",] == pytest.approx(0.004)
    assert found["verifier_item_seconds_bucket", "0.001"] == 0
    assert found["verifier_item_seconds_bucket", "0.0025"] == 2
    assert found["verifier_methods_total", "exact"] == 2


def test_a_spread_counts_each_value_in_every_bucket_that_holds_it() -> None:
    spread = Spread((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 7.0):
        spread.add(value)
    assert spread.cumulative() == [("1.0", 2.0), ("2.0", 3.0), ("+Inf", 4.0)]
    assert spread.total == 10.0
