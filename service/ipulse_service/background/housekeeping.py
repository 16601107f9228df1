"""Periodic deletion of expired keys, absent agents, old jobs, unreferenced files, free pages."""

from __future__ import annotations

import logging
import threading

from ipulse_core.errors import Unavailable
from ipulse_service.agents import join_tokens, registry
from ipulse_service.datasets import uploads
from ipulse_service.db import web_sessions
from ipulse_service.db.engine import Database
from ipulse_service.files import artifacts
from ipulse_service.files.artifacts import Store
from ipulse_service.jobs import deletion, idempotency, store
from ipulse_service.jobs.queue import order
from ipulse_service.settings import Settings

PAUSE_SECONDS = 0.01  # between two transactions that return free pages to the disk
BATCH = 50  # jobs that are selected at once; each is deleted in its own transaction

_log = logging.getLogger(__name__)


class Housekeeper:
    """A thread that cleans up every `housekeeping_seconds`; each replica may have one."""

    def __init__(self, database: Database, blobs: Store, settings: Settings) -> None:
        self._database = database
        self._blobs = blobs
        self._settings = settings
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="housekeeper")

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Returns once the thread has ended."""
        self._stopping.set()
        self._thread.join()

    def clean_up(self) -> None:
        """Cleans up once. Raises Unavailable when the database or the store fails."""
        with self._database.write() as transaction:
            idempotency.forget(transaction)
            registry.forget_silent(transaction)
            join_tokens.forget_old(transaction)
            uploads.forget_expired(transaction)
            web_sessions.forget_old(transaction)
        self._retire_jobs()
        deletion.purge(self._database, seconds=self._settings.housekeeping_seconds)
        self._blobs.prepare()
        removed = artifacts.collect(self._database, self._blobs)
        if removed:
            _log.info("orphans_removed", extra={"count": removed})
        while self._database.free_pages():
            if self._stopping.wait(PAUSE_SECONDS):  # others write meanwhile
                return

    def _run(self) -> None:
        while not self._stopping.wait(self._settings.housekeeping_seconds):
            try:
                self.clean_up()
            except Unavailable as error:
                _log.warning("not_cleaned_up", extra={"error": error.message})
            except Exception:  # noqa: BLE001 - the next round tries again
                _log.exception("clean_up_failed")

    def _retire_jobs(self) -> None:
        if not self._settings.retention_days:
            return
        kept_ms = round(self._settings.retention_days * 86_400_000)
        while not self._stopping.is_set():
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
            artifacts.forget(self._database, self._blobs, sha256)
        _log.info("job_retired", extra={"job": job.id})
