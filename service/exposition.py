"""The page that Prometheus reads: requests by route template, and how the jobs stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from sqlalchemy import func, select

from ipulse.states import JobState

from . import agents
from .database import Database
from .metrics import BOUNDS, Metrics
from .tables import jobs, outbox

MEDIA_TYPE = CONTENT_TYPE_LATEST


def page(metrics: Metrics, database: Database) -> bytes:
    """Raises Unavailable without a database."""
    registry = CollectorRegistry()
    registry.register(_Everything(metrics, database))
    return generate_latest(registry)


class _Everything(Collector):
    def __init__(self, metrics: Metrics, database: Database) -> None:
        self._metrics = metrics
        self._database = database

    def describe(self) -> Iterable[Metric]:
        return ()  # else registering would ask for all of it once more

    def collect(self) -> Iterator[Metric]:
        yield from _answers(self._metrics)
        yield from _jobs(self._database)


def _answers(metrics: Metrics) -> Iterator[Metric]:
    labels = ("method", "route")
    requests = CounterMetricFamily("ipulse_http_requests", "Answers.", labels=(*labels, "status"))
    for names, count in metrics.requests.copy().items():  # the event loop goes on counting
        requests.add_metric(names, count)
    yield requests
    seconds = HistogramMetricFamily(
        "ipulse_http_request_seconds", "Time to the end of an answer.", labels=labels
    )
    bounds = [*map(str, BOUNDS), "+Inf"]
    for route, times in metrics.times.copy().items():
        buckets = zip(bounds, accumulate(times.counts), strict=True)
        seconds.add_metric(route, [*buckets], times.seconds)
    yield seconds


def _jobs(database: Database) -> Iterator[Metric]:
    """Every replica tells the same."""
    with database.read() as transaction:
        by_state = select(jobs.c.state, func.count().label("jobs")).group_by(jobs.c.state)
        counted = {row.state: row.jobs for row in transaction.connection.execute(by_state)}
        pending = transaction.connection.execute(
            select(func.count()).select_from(outbox)
        ).scalar_one()
        since = transaction.now - agents.PRESENT_MS
        present = sum(agent.seen_at > since for agent in agents.known(transaction))
    states = GaugeMetricFamily("ipulse_jobs", "Jobs by state.", labels=["state"])
    for state in JobState:
        states.add_metric([state.value], counted.get(state.value, 0))
    yield states
    yield GaugeMetricFamily("ipulse_outbox", "Wake-ups not published yet.", pending)
    yield GaugeMetricFamily("ipulse_agents", "Agents heard of lately.", present)
