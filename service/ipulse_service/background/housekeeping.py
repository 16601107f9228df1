"""Cleans up now and then: expired keys, silent agents, old jobs, files that nobody refers to."""

from __future__ import annotations

import logging
import threading

from ipulse_core.errors import Unavailable
from ipulse_service.db.engine import Database
from ipulse_service.files import artifacts
from ipulse_service.files.artifacts import Store
from ipulse_service.jobs import agents, deletion, queue_order, store, submission
from ipulse_service.settings import Settings

BATCH = 50  # jobs deleted in one look; each in a transaction of its own

_log = logging.getLogger(__name__)


class Housekeeper:
    """A thread that nothing waits for; several replicas may each have one."""

    def __init__(self, database: Database, blobs: Store, settings: Settings) -> None:
        self._database = database
        self._blobs = blobs
        self._settings = settings
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="housekeeper")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def join(self) -> None:
        self._thread.join()

    def clean_up(self) -> None:
        """One round. Raises Unavailable when database or store cannot be used."""
        with self._database.write() as transaction:
            submission.forget_keys(transaction)
            agents.forget_silent(transaction)
        self._retire_jobs()
        self._blobs.prepare()
        removed = artifacts.collect(self._database, self._blobs)
        if removed:
            _log.info("orphans_removed", extra={"count": removed})

    def _run(self) -> None:
        while not self._stopping.wait(self._settings.housekeeping_seconds):
            try:
                self.clean_up()
            except Unavailable as error:
                _log.warning("not_cleaned_up", extra={"error": error.message})
            except Exception:  # noqa: BLE001 - cleaning up is worth another try, not an end
                _log.exception("clean_up_failed")

    def _retire_jobs(self) -> None:
        if not self._settings.retention_days:
            return
        kept_ms = round(self._settings.retention_days * 86_400_000)
        while not self._stopping.is_set():
            with self._database.read() as transaction:
                old = queue_order.ended_before(transaction, transaction.now - kept_ms, BATCH)
            for job in old:
                self._retire(job.pk)
            if len(old) < BATCH:
                return

    def _retire(self, pk: int) -> None:
        with self._database.write() as transaction:
            job = store.find_by_pk(transaction, pk)
            if job is None:
                return  # another replica was quicker
            digests = deletion.delete_job(transaction, job)
        for sha256 in digests:
            artifacts.forget(self._database, self._blobs, sha256)
        _log.info("job_retired", extra={"job": job.id})
