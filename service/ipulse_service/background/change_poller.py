"""Sees what other replicas commit, for everybody here who waits for a job to change."""

from __future__ import annotations

import logging
import threading

from sqlalchemy import select

from ipulse_core.errors import Unavailable
from ipulse_service.db.engine import Database
from ipulse_service.db.tables import jobs, tokens
from ipulse_service.jobs import store
from ipulse_service.jobs.change_notifier import Changes

BATCH = 500  # jobs in one query

_log = logging.getLogger(__name__)


class Lookout:
    """A thread that compares versions: one query for all the jobs that are watched here.

    What is committed in this process is told at once by `Changes`; this is for the rest. It costs
    the same however many wait, so that looking often is as good as being told by the database.
    """

    def __init__(self, database: Database, changes: Changes, seconds: float) -> None:
        self._database = database
        self._changes = changes
        self._seconds = seconds
        self._stopping = threading.Event()
        self._versions: dict[str, int | None] = {}  # by the id of each job that is watched
        self._tokens: frozenset[str] = frozenset()  # that are good
        self._thread = threading.Thread(target=self._run, name="lookout")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def look(self) -> None:
        """Wakes whoever waits for something that changed. Raises Unavailable."""
        watched = self._changes.watched()
        if not watched:
            self._versions = {}
            return
        with self._database.read() as transaction:
            good = select(tokens.c.id).where(tokens.c.expires_at > transaction.now)
            still_good = frozenset(transaction.connection.execute(good).scalars())
            versions: dict[str, int | None] = dict.fromkeys(watched)  # None: it was deleted
            ids = sorted(watched)
            for begin in range(0, len(ids), BATCH):
                some = jobs.c.id.in_(ids[begin : begin + BATCH])
                query = select(jobs.c.id, jobs.c.version).where(some)
                rows = transaction.connection.execute(query)
                versions.update((row.id, row.version) for row in rows)
        changed = {job for job in watched if self._versions.get(job, -1) != versions[job]}
        if self._tokens - still_good:
            changed = set(watched)  # a stream may belong to a token that is not good any more
        self._changes.publish([*changed, *map(store.stop_topic, changed)])
        self._versions, self._tokens = versions, still_good

    def _run(self) -> None:
        while not self._stopping.wait(self._seconds):
            try:
                self.look()
            except Unavailable as error:
                _log.warning("lookout_waits", extra={"error": error.message})
            except Exception:  # noqa: BLE001 - without it, streams would see only this replica
                _log.exception("lookout_failed")
