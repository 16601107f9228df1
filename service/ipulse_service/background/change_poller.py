"""Polls the database for job changes that other replicas of the service committed."""

from __future__ import annotations

from sqlalchemy import select

from ipulse_core.repeating_thread import RepeatingThread
from ipulse_service.agents import hints
from ipulse_service.db.engine import Database
from ipulse_service.db.tables import jobs, tokens
from ipulse_service.jobs import activity, store
from ipulse_service.jobs.change_notifier import JobNotifier

BATCH = 500  # jobs in one query


class ChangePoller(RepeatingThread):
    """Compares job versions in a thread: one query for all jobs that clients of this process watch.

    `JobNotifier` reports commits of this process at once; the poller finds those of other replicas.
    A poll costs the same for any number of waiting clients.
    """

    def __init__(self, database: Database, changes: JobNotifier, seconds: float) -> None:
        super().__init__("change_poll", self._poll, first_pause=seconds, retry_seconds=seconds)
        self._database = database
        self._changes = changes
        self._seconds = seconds
        self._versions: dict[str, int | None] = {}  # by job id
        self._tokens: frozenset[str] = frozenset()  # ids of valid tokens
        self._head: int | None = None  # of the changes of all jobs
        self._queue: tuple[object, ...] | None = None  # what agents wait for

    def poll(self) -> None:
        """Wakes the waiters of every job that changed since the last poll. Raises Unavailable."""
        watched = self._changes.watched()
        if not watched:
            self._versions = {}
            return
        queue = None
        ids = sorted(watched - {hints.TOPIC, activity.TOPIC})
        head = None
        with self._database.read() as transaction:
            query_valid = select(tokens.c.id).where(tokens.c.expires_at > transaction.now)
            valid = frozenset(transaction.connection.execute(query_valid).scalars())
            if hints.TOPIC in watched:
                queue = hints.overview(transaction)
            if activity.TOPIC in watched:
                head = activity.head(transaction)
            versions: dict[str, int | None] = dict.fromkeys(ids)  # None: deleted
            for begin in range(0, len(ids), BATCH):
                batch = jobs.c.id.in_(ids[begin : begin + BATCH])
                query = select(jobs.c.id, jobs.c.version).where(batch)
                rows = transaction.connection.execute(query)
                versions.update((row.id, row.version) for row in rows)
        changed = {job for job in ids if self._versions.get(job, -1) != versions[job]}
        is_revoked = bool(self._tokens - valid)
        if is_revoked:
            changed = set(ids)  # a stream may belong to a token that was revoked
        topics = [*changed, *map(store.stop_topic, changed)]
        if is_revoked or queue != self._queue:
            topics.append(hints.TOPIC)
        if is_revoked or head != self._head:
            topics.append(activity.TOPIC)
        self._changes.publish(topics)
        self._head = head
        self._versions, self._tokens, self._queue = versions, valid, queue

    def _poll(self) -> float:
        self.poll()
        return self._seconds
