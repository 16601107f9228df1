"""Metrics for Prometheus: requests by route template, jobs, agents and the outbox."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import func, select

from ipulse_core.states import JobState
from ipulse_core.worker_faults import REASONS
from ipulse_service.agents import registry
from ipulse_service.db.engine import Database
from ipulse_service.db.tables import jobs, outbox

NO_ROUTE = "none"  # the label of all paths that no route has


class Metrics:
    """The metrics of one application, in a registry of its own."""

    def __init__(self, database: Database) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Jobs(database))
        labels = ("method", "route")
        self._requests = Counter(
            "ipulse_http_requests",
            "Requests answered.",
            (*labels, "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "ipulse_http_request_seconds",
            "Time to the end of the response.",
            labels,
            registry=self._registry,
        )

        self._loop_lag = Histogram(
            "ipulse_loop_lag_seconds",
            "How late the event loop of a lane runs: requests are not read meanwhile.",
            ("lane",),
            buckets=(0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 60),
            registry=self._registry,
        )

    def loop_lag(self, lane: str) -> Callable[[float], None]:
        """Returns what records a lag of the lane's event loop in seconds."""
        return self._loop_lag.labels(lane).observe

    def record_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a request that was answered."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """Returns all metrics as text for Prometheus. Raises Unavailable without a database."""
        return generate_latest(self._registry)


class _Jobs(Collector):
    """Reads the database at each scrape, so that all replicas report the same."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def describe(self) -> Iterable[Metric]:
        return ()  # without it, registration would read a database that may not exist yet

    def collect(self) -> Iterator[Metric]:
        with self._database.read() as transaction:
            by_state = select(jobs.c.state, func.count().label("jobs")).group_by(jobs.c.state)
            counts = {row.state: row.jobs for row in transaction.connection.execute(by_state)}
            pending = transaction.connection.execute(
                select(func.count()).select_from(outbox)
            ).scalar_one()
            now = transaction.now
            present = [agent for agent in registry.known(transaction) if agent.is_present(now)]
        faults = Counts(agent.fault.reason for agent in present if agent.fault)
        states = GaugeMetricFamily("ipulse_jobs", "Jobs by state.", labels=["state"])
        for state in JobState:
            states.add_metric([state.value], counts.get(state.value, 0))
        yield states
        yield GaugeMetricFamily("ipulse_outbox", "Wake-ups not published yet.", pending)
        yield GaugeMetricFamily(
            "ipulse_agents", "Registered agents that are present.", len(present)
        )
        faulty = GaugeMetricFamily(
            "ipulse_agent_faults",
            "Present agents that take no job because of their machine.",
            labels=["reason"],
        )
        for reason in sorted(set(REASONS.values())):
            faulty.add_metric([reason.value], faults[reason])
        yield faulty
