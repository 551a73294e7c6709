"""Metrics that are safe to show: of the service, and of what is public of experiments.

There is no count, rate or duration of requests, none of processor time, memory or the size of a
file: each of them would tell that outcomes come, and when. What is here would be the same if nobody
had answered since the last release.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from .._version import __version__

if TYPE_CHECKING:
    from ._service import Service

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
METRICS = {
    "discreet_info": "the version that runs",
    "discreet_ready": "1 while the service takes requests",
    "discreet_experiments": "experiments, by whether they were started",
    "discreet_releases": "releases so far, of all experiments",
    "discreet_release_late_seconds": "how late the release is that should have come first",
}


class Public(Collector):
    """Reads the service when it is asked."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """One family for every metric."""
        service, now = self._service, time.time()
        standings = list(service.engine.standings.values())
        rows = service.register.experiments()
        dues = [standing.due for standing in standings if standing.due is not None]
        yield _one("discreet_info", {"version": __version__}, 1)
        yield _one("discreet_ready", {}, int(service.is_ready))
        states = GaugeMetricFamily(
            "discreet_experiments", METRICS["discreet_experiments"], labels=["state"]
        )
        for state in ("planned", "started"):
            states.add_metric([state], sum(row.state == state for row in rows))
        yield states
        yield _one("discreet_releases", {}, sum(one.generation for one in standings))
        late = max((now - due for due in dues), default=0.0)
        yield _one("discreet_release_late_seconds", {}, round(max(late, 0.0)))


def _one(name: str, labels: dict[str, str], value: float) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, METRICS[name], labels=_names(labels))
    family.add_metric(list(labels.values()), value)
    return family


def _names(labels: Iterable[str]) -> list[str]:
    return list(labels)


def text_of(service: Service) -> bytes:
    """What a scraper reads."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Public(service))
    return generate_latest(registry)
