"""Metrics of the service, for Prometheus."""

from collections.abc import Callable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SEGMENTS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The metrics of one service, in their own registry."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "postedit_requests", "Requests that were answered.", ["method", "route", "status"], registry=registry
        )
        self.request_seconds = Histogram(
            "postedit_request_seconds", "Time to answer a request.", ["route"], buckets=_SECONDS, registry=registry
        )
        self.segments = Counter(
            "postedit_segments", "Segments that were edited.", ["model", "priority"], registry=registry
        )
        self.batch_seconds = Histogram(
            "postedit_batch_seconds",
            "Time of a model process for a batch.",
            ["model"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.batch_segments = Histogram(
            "postedit_batch_segments",
            "Segments that were edited together.",
            ["model"],
            buckets=_SEGMENTS,
            registry=registry,
        )
        self.deaths = Counter(
            "postedit_process_deaths", "Model processes that died, and were restarted.", ["model"], registry=registry
        )
        self.refused = Counter(
            "postedit_refused", "Requests that were refused or given up.", ["reason"], registry=registry
        )

    def watch(self, name: str, text: str, label: str, values: Mapping[str, Callable[[], float]]) -> None:
        """Add a gauge with a function for each value of a label, called whenever the metrics are read."""
        gauge = Gauge(name, text, [label], registry=self.registry)
        for one, value in values.items():
            gauge.labels(one).set_function(value)

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)
