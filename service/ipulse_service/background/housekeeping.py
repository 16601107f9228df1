"""Periodic deletion of expired keys, absent agents, old jobs, unreferenced files, free pages."""

from __future__ import annotations

import logging

from ipulse_core.repeating_thread import RepeatingThread
from ipulse_service.agents import join_tokens, registry, reservations
from ipulse_service.datasets import uploads
from ipulse_service.db import device_codes, web_sessions
from ipulse_service.db.engine import Database
from ipulse_service.files import stored
from ipulse_service.files.stored import Store
from ipulse_service.jobs import activity, deletion, idempotency, store
from ipulse_service.jobs.queue import order
from ipulse_service.news import outbox
from ipulse_service.settings import Settings

PAUSE_SECONDS = 0.01  # between two transactions that return free pages to the disk
BATCH = 50  # jobs that are selected at once; each is deleted in its own transaction

_log = logging.getLogger(__name__)


class Housekeeper(RepeatingThread):
    """A thread that cleans up every `housekeeping_seconds`; each replica may have one."""

    def __init__(self, database: Database, blobs: Store, settings: Settings) -> None:
        seconds = settings.housekeeping_seconds
        super().__init__("clean_up", self._clean_up, first_pause=seconds, retry_seconds=seconds)
        self._database = database
        self._blobs = blobs
        self._settings = settings

    def clean_up(self) -> None:
        """Cleans up once. Raises Unavailable when the database or the store fails."""
        with self._database.write() as transaction:
            idempotency.forget(transaction)
            registry.forget_silent(transaction)
            reservations.forget_old(transaction)
            join_tokens.forget_old(transaction)
            uploads.forget_expired(transaction)
            web_sessions.forget_old(transaction)
            device_codes.forget_old(transaction)
            outbox.forget_old(transaction)
            activity.forget_old(transaction)
        self._retire_jobs()
        deletion.purge(self._database, seconds=self._settings.housekeeping_seconds)
        self._blobs.prepare()
        removed = stored.collect(self._database, self._blobs)
        if removed:
            _log.info("orphans_removed", extra={"count": removed})
        while self._database.free_pages():
            if self.sleep(PAUSE_SECONDS):  # others write meanwhile
                return

    def _clean_up(self) -> float:
        self.clean_up()
        return self._settings.housekeeping_seconds

    def _retire_jobs(self) -> None:
        if not self._settings.retention_days:
            return
        kept_ms = round(self._settings.retention_days * 86_400_000)
        while not self.is_stopping:
            with self._database.read() as transaction:
                old = order.ended_before(transaction, transaction.now - kept_ms, BATCH)
            for job in old:
                self._retire(job.pk)
            if len(old) < BATCH:
                return

    def _retire(self, pk: int) -> None:
        with self._database.write() as transaction:
            job = store.find_by_pk(transaction, pk)
            if job is None:
                return  # another replica has deleted it
            digests = deletion.delete_job(transaction, job)
        for sha256 in digests:
            stored.forget(self._database, self._blobs, sha256)
        _log.info("job_retired", extra={"job": job.id})
