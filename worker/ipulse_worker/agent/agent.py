"""The agent itself: looks at jobs one after another, and says when it is to stop."""

from __future__ import annotations

import logging
import time

from ipulse_core.errors import Conflict, IPUlseError, NotFound
from ipulse_worker.agent.registration.lease_record import LeaseRecord
from ipulse_worker.agent.registration.orphans import Orphans
from ipulse_worker.agent.registration.quarantine import Quarantine
from ipulse_worker.agent.registration.registration import Presence
from ipulse_worker.agent.retry_policy import patiently
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import WrongProtocol
from ipulse_worker.agent.settings import Settings
from ipulse_worker.agent.supervision.attempt import Attempt
from ipulse_worker.agent.supervision.runner_process import RunnerProcess
from ipulse_worker.agent.supervision.warm_runner_pool import WarmRunner
from ipulse_worker.agent.supervision.work_directory import sweep

CLAIM_TRIES = 4  # then the wake-up is dropped: the service sends another while the job waits

_log = logging.getLogger(__name__)


class Agent:
    """Runs one attempt at a time, in the thread that calls `look_at`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._api = ServiceAPI(settings.service_url, settings.worker_token, settings.trust())
        self._record = LeaseRecord(settings.work_dir, settings.name)
        self._warm = WarmRunner(
            lambda: RunnerProcess(settings, [self._record.fileno()]), settings.warm
        )
        self.quarantine = Quarantine(settings.device_kinds, settings.rest_seconds)
        self._presence = Presence(self._api, settings, self.quarantine)
        self._orphans = Orphans(self._api, settings.work_dir)
        self._attempt: Attempt | None = None
        self._is_stopping = False

    def start(self) -> None:
        """Makes room and warms the first runner up."""
        self._settings.work_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room()
        self._record.open()
        self._presence.start()
        self._orphans.start()
        self._warm.prepare()

    def look_at(self, job_id: str) -> None:
        """Claims the job and sees an attempt through, if there is anything to do."""
        usable = self.quarantine.usable
        if self._must_stop() or not usable:
            return
        try:
            claim = patiently(
                lambda: self._api.claim(job_id, self._settings.name, usable),
                self._pause,
                CLAIM_TRIES,
            )
        except (Conflict, NotFound) as error:
            _log.info("nothing_to_do", extra={"job": job_id, "why": error.message})
            return
        except IPUlseError as error:
            if isinstance(error, WrongProtocol):
                self.quarantine.refused()  # and its wake-ups go to others
            _log.error("claim_failed", extra={"job": job_id, "why": error.message})
            return
        attempt = Attempt(claim, self._settings, self._api, self._warm, self.quarantine)
        facts = {"job": job_id, "attempt": claim.lease.attempt_id, "number": claim.attempt}
        _log.info("job_claimed", extra=facts)
        self._attempt = attempt
        if self._must_stop():  # the signal came before there was anything to tell it to
            attempt.stop()
        try:
            with self._record.holding(claim.lease):
                attempt.run()
        finally:
            self._attempt = None
            self._warm.prepare()  # once everybody knows how this one ended
        if self.quarantine.resting:
            self._presence.tell()
        self._make_room()

    def stop(self) -> None:
        """Ends the present attempt and takes no other. May be called by a signal handler."""
        self._is_stopping = True
        if self._attempt:
            self._attempt.stop()

    def close(self) -> None:
        self._presence.end()
        self._orphans.end()
        self._warm.close()
        self._record.close()
        self._api.close()

    def _make_room(self) -> None:
        for removed in sweep(self._settings.work_dir):
            _log.info("work_directory_removed", extra={"path": str(removed)})

    def _pause(self, seconds: float) -> bool:
        time.sleep(seconds)
        return self._must_stop()

    def _must_stop(self) -> bool:
        """A handler may have changed this between any two lines."""
        return self._is_stopping
