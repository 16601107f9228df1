"""Checks new versions of data sets, a few at once and of each token one."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from ipulse_core.errors import Unavailable
from ipulse_core.repeating_thread import RepeatingThread
from ipulse_service.datasets import check_turns, checking, versions
from ipulse_service.datasets.facts import DatasetCheck
from ipulse_service.datasets.versions import VersionRow
from ipulse_service.db.engine import Database
from ipulse_service.files.stored import Store
from ipulse_service.reading.isolation import Isolation
from ipulse_service.reading.process import ReadingStopped
from ipulse_service.settings import Settings

AT_ONCE = 2  # checks of a replica; each takes a core and at most 3 GiB of memory
RESCAN_SECONDS = 10.0  # for versions that another replica gave up
RETRY_SECONDS = 5.0
RENEW_SECONDS = 5.0  # must be well below `versions.CLAIM_MS`

_log = logging.getLogger(__name__)


class CheckKilled(Unavailable):
    """The process of a check was killed; it is tried again a few times."""


class DatasetChecker:
    """Threads that check versions in the state `checking`."""

    def __init__(
        self, database: Database, blobs: Store, settings: Settings, isolation: Isolation
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._isolation = isolation
        self._scratch = settings.artifacts_dir / "checks"
        self._threads = [
            RepeatingThread("dataset_check", self._turn, retry_seconds=RETRY_SECONDS)
            for _ in range(AT_ONCE)
        ]
        database.listeners.append(self._on_commit)

    def start(self) -> None:
        """Starts the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Returns once the threads have ended; checks in progress are given up."""
        for thread in self._threads:
            thread.end()
        for thread in self._threads:
            thread.stop()

    @property
    def _is_stopping(self) -> bool:
        return self._threads[0].is_stopping

    def _on_commit(self, topics: frozenset[str]) -> None:
        if versions.CHECK_TOPIC in topics:
            self._notify()

    def _notify(self) -> None:
        for thread in self._threads:
            thread.wake()

    def _turn(self) -> float:
        if self._check_next():
            self._notify()  # the next version of the same token may be checked
        return RESCAN_SECONDS

    def _check_next(self) -> bool:
        """Checks a version; returns whether there was one."""
        with self._database.read() as transaction:
            if not versions.has_unchecked(transaction):
                return False
        with self._database.write() as transaction:
            version = check_turns.claim(transaction)
        if version is None:
            return False
        if version.checks > versions.MAX_CHECKS:  # the service did not live to store the last
            self._store(version, DatasetCheck(trouble="the service ended during each check"))
            return True
        try:
            with self._blobs.as_file(version.sha256) as path:
                result = checking.check(
                    self._isolation, path, self._scratch, self._must_stop(version)
                )
            self._store(version, result)
        except (ReadingStopped, Unavailable, OSError) as error:
            is_stopping = self._is_stopping
            if is_stopping or not isinstance(error, CheckKilled):  # the data are not the reason
                with self._database.write() as transaction:
                    versions.give_up(transaction, version.pk, is_free=is_stopping)
            else:
                with self._database.write() as transaction:
                    versions.stop(transaction, version.pk)
            if not is_stopping:
                raise  # it is tried again when its claim has expired, and others come first
        return True

    def _must_stop(self, version: VersionRow) -> Callable[[], bool]:
        """Returns a function that says whether the check must stop, and renews the claim."""
        renewed = time.monotonic()

        def must_stop() -> bool:
            nonlocal renewed
            if time.monotonic() - renewed > RENEW_SECONDS:
                renewed = time.monotonic()
                with self._database.write() as transaction:
                    versions.renew(transaction, version.pk)
            return self._is_stopping

        return must_stop

    def _store(self, version: VersionRow, result: DatasetCheck) -> None:
        if result.trouble is not None:
            if version.checks < versions.MAX_CHECKS:
                raise CheckKilled(f"{version.reference} cannot be checked now: {result.trouble}")
            result = DatasetCheck(
                refusal=f"{result.trouble}, {versions.MAX_CHECKS} times: perhaps the machine of "
                "the service lacks memory for it. Push it again when it has more, or divide it"
            )
        with self._database.write() as transaction:
            versions.finish_check(transaction, version, result)
        facts = {"dataset": version.reference, "refusal": result.refusal}
        _log.info("dataset_checked", extra=facts)
