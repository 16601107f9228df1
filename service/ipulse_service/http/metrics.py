"""What Prometheus reads: requests by route template, and how the jobs stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import func, select

from ipulse_core.states import JobState
from ipulse_service.db.engine import Database
from ipulse_service.db.tables import jobs, outbox
from ipulse_service.jobs import agents

NO_ROUTE = "none"  # what nobody answers to is one line, whatever paths are tried


class Metrics:
    """One registry for each application, so that two in one process do not mix."""

    def __init__(self, database: Database) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Jobs(database))
        labels = ("method", "route")
        self._requests = Counter(
            "ipulse_http_requests", "Answers.", (*labels, "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "ipulse_http_request_seconds",
            "Time to the end of an answer.",
            labels,
            registry=self._registry,
        )

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """Everything in Prometheus's own format. Raises Unavailable without a database."""
        return generate_latest(self._registry)


class _Jobs(Collector):
    """Asked at each reading; every replica tells the same."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def describe(self) -> Iterable[Metric]:
        return ()  # else registering would ask a database that may not be there yet

    def collect(self) -> Iterator[Metric]:
        with self._database.read() as transaction:
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
