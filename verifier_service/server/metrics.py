"""Counts and durations of one app, for Prometheus and for the small JSON of /stats."""

import time
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from verifier_service.schema import GoldsResponse, ScoreResponse
from verifier_service.server.admission import AdmissionStats
from verifier_service.server.backend import Figures
from verifier_service.server.limits import LimitStats
from verifier_service.spread import SECONDS, Spread

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ITEMS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


class _FigureCollector(Collector):
    """Reads the numbers of the workers and the cache when they are asked for."""

    def __init__(
        self,
        figures: Callable[[], Figures],
        ready: Callable[[], bool],
        admission: AdmissionStats,
        limits: LimitStats,
    ) -> None:
        self._figures = figures
        self._ready = ready
        self._admission = admission
        self._limits = limits

    def collect(self) -> Iterator[Metric]:
        figures = self._figures()
        yield GaugeMetricFamily("verifier_ready", "1 where a worker is ready.", value=float(self._ready()))
        yield _family(GaugeMetricFamily, "verifier_workers", "Workers by state.", "state", figures.workers)
        yield _family(
            CounterMetricFamily,
            "verifier_worker_events",
            "Events of workers.",
            "event",
            figures.worker_events,
        )
        yield _family(
            CounterMetricFamily,
            "verifier_worker_kills",
            "Workers killed, by reason.",
            "reason",
            figures.kills,
        )
        yield from _of_cache("verifier_cache", "Cache of results", figures.cache)
        yield from _of_cache("verifier_slow_cache", "Cache of what only sympy could tell", figures.slow_cache)
        yield _family(
            CounterMetricFamily,
            "verifier_shared_cache",
            "Cache of results in Redis: items by event.",
            "event",
            figures.shared,
        )
        yield _histogram(
            "verifier_queue_wait_seconds", "Time until a worker takes up a batch.", figures.waits
        )
        told = [up for up in (figures.redis_up, self._limits.redis_up) if up is not None]
        yield GaugeMetricFamily(
            "verifier_redis_up",
            "1 where Redis answered when last asked, for results and for limits.",
            value=float(all(told)) if told else None,
        )
        admission = self._admission
        for name, value in _inside(admission).items():
            yield GaugeMetricFamily(f"verifier_inflight_{name}", f"Requests now inside: {name}.", value=value)
        yield _family(
            CounterMetricFamily,
            "verifier_refused",
            "Requests turned away, by reason.",
            "reason",
            {
                "overloaded": admission.overloaded,
                "draining": admission.draining,
                "quota-exceeded": self._limits.refused,
                "limiter-unavailable": self._limits.unavailable,
            },
        )
        yield CounterMetricFamily(
            "verifier_limits_degraded",
            "Requests limited by this replica alone, since Redis was gone.",
            value=self._limits.degraded,
        )


class _SpreadCollector(Collector):
    """A histogram that others fill."""

    def __init__(self, name: str, help_: str, spread: Spread) -> None:
        self._name = name
        self._help = help_
        self._spread = spread

    def collect(self) -> Iterator[Metric]:
        yield _histogram(self._name, self._help, self._spread)


def _histogram(name: str, help_: str, spread: Spread) -> Metric:
    return HistogramMetricFamily(name, help_, buckets=spread.cumulative(), sum_value=spread.total)


def _of_cache(name: str, help_: str, stats: Mapping[str, int]) -> Iterator[Metric]:
    for key, value in stats.items():
        kind = GaugeMetricFamily if key in ("entries", "bytes") else CounterMetricFamily
        yield kind(f"{name}_{key}", f"{help_}: {key}.", value=value)


def _inside(admission: AdmissionStats) -> dict[str, int]:
    return {"requests": admission.requests, "items": admission.items, "bytes": admission.bytes}


def _family(kind: Any, name: str, help_: str, label: str, values: Mapping[str, int]) -> Metric:
    family = kind(name, help_, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family  # type: ignore[no-any-return]


class Metrics:
    """The metrics of one app, in a registry of its own."""

    def __init__(
        self,
        figures: Callable[[], Figures],
        ready: Callable[[], bool],
        admission: AdmissionStats,
        limits: LimitStats,
    ) -> None:
        self._began = time.monotonic()
        self.registry = CollectorRegistry()
        self.registry.register(_FigureCollector(figures, ready, admission, limits))
        self._admission = admission
        self._figures = figures
        self.lag = self._spread("verifier_event_loop_lag_seconds", "How late the event loop is.")
        self._judging = self._spread("verifier_item_seconds", "CPU time of judging an item.")
        self._decoding = self._histogram("verifier_decode_seconds", "Time to decode a body.")
        self._batches = self._histogram(
            "verifier_batch_items", "Items in a request to /score.", bounds=_ITEMS
        )
        self._durations = self._histogram(
            "verifier_request_duration_seconds",
            "Time from the first byte of a request to the last of its reply.",
            "route",
        )
        self._requests = self._counter(
            "verifier_requests_total", "Requests by route and status.", "route", "status"
        )
        self._abandoned = self._counter(
            "verifier_requests_abandoned_total", "Requests whose sender hung up while they were judged."
        )
        self._bytes = self._counter("verifier_body_bytes_total", "Bytes of bodies read.")
        self._items = self._counter(
            "verifier_items_total", "Items by verdict and profile.", "verdict", "profile"
        )
        self._methods = self._counter(
            "verifier_methods_total", "Items by how the verdict was reached.", "method"
        )
        self._nulls = self._counter("verifier_nulls_total", "Items without a verdict, by code.", "code")
        self._cached = self._counter("verifier_items_cached_total", "Items answered from the cache.")
        self._golds = self._counter(
            "verifier_golds_total", "Golds checked, by whether they can be judged.", "ok"
        )

    def _counter(self, name: str, help_: str, *labels: str) -> Counter:
        return Counter(name, help_, labels, registry=self.registry)

    def _histogram(self, name: str, help_: str, *labels: str, bounds: Sequence[float] = SECONDS) -> Histogram:
        return Histogram(name, help_, labels, buckets=bounds, registry=self.registry)

    def _spread(self, name: str, help_: str) -> Spread:
        spread = Spread()
        self.registry.register(_SpreadCollector(name, help_, spread))
        return spread

    def request_abandoned(self) -> None:
        self._abandoned.inc()

    def request_ended(self, route: str, status: int, seconds: float) -> None:
        self._requests.labels(route, str(status)).inc()
        self._durations.labels(route).observe(seconds)

    def body_decoded(self, size: int, seconds: float) -> None:
        self._bytes.inc(size)
        self._decoding.observe(seconds)

    def batch_scored(self, response: ScoreResponse) -> None:
        """Counts a reply. Profiles of a request's own are all called "inline": labels must not grow."""
        self._batches.observe(len(response.results))
        results = response.results
        verdicts = Tally((result.verdict, result.profile or response.profile) for result in results)
        for (verdict, profile), count in verdicts.items():
            self._items.labels(verdict or "null", profile).inc(count)
        for code, count in Tally(result.error.code for result in results if result.error).items():
            self._nulls.labels(code).inc(count)
        for method, count in Tally(result.method for result in results if result.method).items():
            self._methods.labels(method).inc(count)
        for result in results:
            if not result.cached and result.elapsed_ms:
                self._judging.add(result.elapsed_ms / 1000)
        self._cached.inc(sum(result.cached for result in results))

    def golds_checked(self, response: GoldsResponse) -> None:
        for ok, count in Tally(result.ok for result in response.results).items():
            self._golds.labels(str(ok).lower()).inc(count)

    def exposition(self) -> bytes:
        return generate_latest(self.registry)

    def stats(self) -> dict[str, Any]:
        """The numbers that a page shows: small enough to be polled."""
        figures = self._figures()
        return {
            "uptime_s": round(time.monotonic() - self._began, 1),
            "requests": _by_label(self._requests, "status"),
            "items": _by_label(self._items, "verdict"),
            "nulls": _by_label(self._nulls, "code"),
            "golds": _by_label(self._golds, "ok"),
            "cached": int(sum(_by_label(self._cached, "").values())),
            "workers": dict(figures.workers),
            "worker_events": dict(figures.worker_events),
            "kills": dict(figures.kills),
            "cache": dict(figures.cache),
            "slow_cache": dict(figures.slow_cache),
            "shared_cache": dict(figures.shared),
            "inflight": _inside(self._admission),
        }


def _by_label(counter: Counter, label: str) -> dict[str, int]:
    totals: Tally[str] = Tally()
    for metric in counter.collect():
        for sample in metric.samples:
            if sample.name.endswith("_total"):
                totals[sample.labels.get(label, "")] += int(sample.value)
    return dict(totals)
