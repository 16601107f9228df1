"""Ends attempts with an expired lease and jobs past their deadline, and queues what is due.

Due are retries after their wait, and jobs after the jobs that they waited for. It also asks jobs to
stop for others, in pools that allow it.
"""

from __future__ import annotations

import logging

from ipulse_core.repeating_thread import RepeatingThread
from ipulse_service.background.listening_time import ListeningTime
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.jobs import attempts, dependencies, leases, store, transitions
from ipulse_service.jobs.queue import order, preemption
from ipulse_service.settings import Settings

TICK_SECONDS = 1.0  # the longest time between two scans
# After this process did not listen, agents have this long to renew their leases. They retry every
# second, so that a longer grace would only delay the jobs of agents that died.
GRACE_SECONDS = 2.0
REMEMBER_MS = 10_000  # how old the stored time may be while something is due soon
REMEMBER_IDLE_MS = 3_600_000  # and while nothing is
SOON_MS = 60_000

_log = logging.getLogger(__name__)


class Reaper(RepeatingThread):
    """A thread that wakes when the next lease, deadline or retry is due; each replica has one."""

    def __init__(self, database: Database, settings: Settings) -> None:
        super().__init__("reaper", self.reap)
        self._database = database
        self._settings = settings
        grace = min(settings.lease_seconds, GRACE_SECONDS)
        longest = settings.heartbeat_seconds + TICK_SECONDS
        self.listening_time = ListeningTime(
            lambda: database.clock.elapsed_ms(), settings.lease_seconds, grace, longest
        )
        self._remembered = 0
        database.listeners.append(self._on_commit)

    def _on_commit(self, topics: frozenset[str]) -> None:
        # A job that ends may be one that others wait for.
        if transitions.RETRY_TOPIC in topics or any(map(store.is_stop_topic, topics)):
            self.wake()

    def reap(self) -> float:
        """Does everything that is due. Returns the seconds until the next scan."""
        with self._database.read() as transaction:
            expired_by = self._expired_by(transaction)
            expired = expired_by is not None and bool(leases.expired(transaction, expired_by))
            is_due = bool(order.due(transaction))
            is_late = bool(order.overdue(transaction))
            is_met = dependencies.is_due(transaction)
            clock_was_set = self._database.clock.is_off
            preempts = bool(preemption.preempt(transaction, self._settings))
        if expired or is_due or is_late or clock_was_set:
            with self._database.write() as transaction:
                # This process may have been suspended, or have waited for other writers, since.
                expired_by = self._expired_by(transaction)
                lost = []
                if expired and expired_by is not None:
                    lost = attempts.reap(transaction, self._settings, expired_by)
                queued = attempts.requeue(transaction)
                late = attempts.expire(transaction)
            for job in lost:
                _log.warning("lease_expired", extra={"job": job.id, "state": job.state.value})
            for job in late:
                _log.info("deadline_exceeded", extra={"job": job.id, "detail": job.message})
            for job in queued:
                _log.info("job_requeued", extra={"job": job.id})
        if preempts:
            with self._database.write() as transaction:
                preempted = preemption.preempt(transaction, self._settings)
            for job, waiting in preempted:
                _log.info("job_preempted", extra={"job": job.id, "for_job": waiting})
        while is_met and not self.is_stopping:
            is_met = self._settle()
        return self._seconds_until_due(expired_by)

    def _expired_by(self, transaction: Transaction) -> int | None:
        now = transaction.now
        return self.listening_time.expired_by(now, self._database.clock.stopped_ms)

    def _settle(self) -> bool:
        """Queues or cancels jobs that waited for others; returns whether more are due."""
        with self._database.write() as transaction:
            for job in dependencies.settle(transaction):
                _log.info("dependency_ended", extra={"job": job.id, "state": job.state.value})
        with self._database.read() as transaction:
            return dependencies.is_due(transaction)

    def _seconds_until_due(self, expired_by: int | None) -> float:
        with self._database.read() as transaction:
            moments = [order.next_due(transaction), order.next_deadline(transaction)]
            expiry = leases.next_expiry(transaction)
            if expired_by is not None and expiry is not None:
                moments.append(transaction.now + expiry - expired_by)
            waits = [moment - transaction.now for moment in moments if moment is not None]
            age = transaction.now - self._remembered
        is_soon = any(wait < SOON_MS for wait in waits)
        if age > (REMEMBER_MS if is_soon else REMEMBER_IDLE_MS):
            with self._database.write() as transaction:
                self._remembered = transaction.now
                self._database.clock.remember(transaction.connection, transaction.now)
        return min([TICK_SECONDS, *(max(wait, 1) / 1000 for wait in waits)])
