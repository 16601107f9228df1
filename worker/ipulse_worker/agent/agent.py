"""The agent: it claims jobs and runs their attempts one after another."""

from __future__ import annotations

import logging
import math
import secrets
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ipulse.stack.agent_home import Membership
from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.errors import Conflict, IPUlseError, NotFound
from ipulse_worker.agent.registration.host_check import CHECK_SECONDS, HostCheck
from ipulse_worker.agent.registration.lease_record import LeaseRecord
from ipulse_worker.agent.registration.orphans import OrphanReleaser
from ipulse_worker.agent.registration.quarantine import Quarantine
from ipulse_worker.agent.registration.registration import EVERY_SECONDS, Registration
from ipulse_worker.agent.retry_policy import retry_while_unavailable
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import (
    ClaimRefused,
    DrainRefused,
    ProtocolRefused,
    ServiceUnavailable,
)
from ipulse_worker.agent.service_types import AgentHint, AgentOrders, ClaimedJob
from ipulse_worker.agent.settings import AgentSettings
from ipulse_worker.agent.supervision.attempt_supervisor import AttemptSupervisor
from ipulse_worker.agent.supervision.runner_process import RunnerProcess
from ipulse_worker.agent.supervision.warm_runner_pool import WarmRunnerPool
from ipulse_worker.agent.work_directory import sweep

# A drain that is not confirmed for so long has ended; each registration confirms it.
DRAIN_SECONDS = EVERY_SECONDS + 5.0
CLAIM_TRIES = 4  # then the wake-up is dropped; the service sends another while the job waits

_log = logging.getLogger(__name__)


class Agent:
    """Runs one attempt at a time, in the thread that calls `run_job`."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._api = ServiceAPI(settings.service_url, settings.worker_token, settings.trust())
        if settings.membership_file is not None:
            self._api.renew_with(self._renew_token)
        self._record = LeaseRecord(settings.work_dir, settings.name)
        self._warm = WarmRunnerPool(
            lambda: RunnerProcess(settings, [self._record.fileno()]), settings.warm
        )
        self._host = HostCheck(
            settings.work_dir,
            settings.least_free_bytes,
            settings.quarantine_seconds,
            caches=(settings.dataset_cache, cache_directory(), Path(tempfile.gettempdir())),
        )
        self.quarantine = Quarantine(settings.device_kinds, settings.quarantine_seconds, self._host)
        self._registration = Registration(
            self._api, settings, self.quarantine, self._host, self._follow
        )
        self._orphan_releaser = OrphanReleaser(self._api, settings.work_dir)
        self._attempt: AttemptSupervisor | None = None
        self._unanswered = ""  # the fencing token of a claim whose answer has not arrived
        self._is_stopping = False

    def start(self) -> None:
        """Prepare the work directory, start the threads and the first warm runner."""
        self._settings.work_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sweep()
        self._record.open()
        self._registration.start()
        self._orphan_releaser.start()
        self._warm.prepare()

    def run_job(self, job_id: str) -> bool:
        """Claim the job and run an attempt, if the job is still to be run; return whether."""
        usable = self.quarantine.usable
        if self._must_stop() or not usable:
            trouble = self.quarantine.trouble
            if trouble:
                _log.warning("job_not_claimed", extra={"wake_up": job_id, "why": trouble.message})
                self._registration.renew_now()
            return False
        try:
            claim = self._claim(job_id, usable)
        except (Conflict, NotFound) as error:
            if isinstance(error, DrainRefused):
                self.quarantine.drain(DRAIN_SECONDS)
            _log.info("nothing_to_do", extra={"wake_up": job_id, "why": error.message})
            return False
        except IPUlseError as error:
            if isinstance(error, ProtocolRefused):
                self.quarantine.suspend_all(error.message)  # other agents get the wake-ups
            _log.error("claim_failed", extra={"wake_up": job_id, "why": error.message})
            return False
        self._host.attempt_begins()
        attempt = AttemptSupervisor(
            claim,
            self._settings,
            self._api,
            self._warm,
            self.quarantine,
            self._host,
            self._registration.check_again,
        )
        facts = {"job": claim.job_id, "attempt": claim.lease.attempt_id, "number": claim.attempt}
        _log.info("job_claimed", extra={**facts, "wake_up": job_id})
        self._attempt = attempt
        if self._must_stop():  # a signal came before `self._attempt` was set
            attempt.stop()
        try:
            with self._record.holding(claim.lease):
                attempt.run()
        finally:
            self._attempt = None
            if attempt.unreported:
                self._orphan_releaser.add_unreported(claim.lease, attempt.unreported)
            self._host.attempt_removed()
            self._warm.prepare()  # after the outcome has been reported
        if self.quarantine.quarantined:
            self._registration.renew_now()
        self._sweep()
        return True

    def _claim(self, job_id: str, kinds: Sequence[str]) -> ClaimedJob:
        """Claim the job, or the first one in the queue.

        A claim without an answer may have been granted: it is repeated as it was, also by the next
        wake-up, so that it cannot lead to two attempts.
        """
        is_repeated = bool(self._unanswered)
        self._unanswered = fence = self._unanswered or secrets.token_urlsafe(32)
        try:
            claim = retry_while_unavailable(
                lambda: self._api.claim(job_id, self._settings.name, kinds, fence),
                self._pause,
                CLAIM_TRIES,
            )
        except ServiceUnavailable:
            raise
        except ClaimRefused:
            self._unanswered = ""
            if not is_repeated:
                raise
            return self._claim(job_id, kinds)  # that one is over: this is another
        except IPUlseError:
            self._unanswered = ""
            raise
        self._unanswered = ""
        return claim

    def stop(self) -> None:
        """End the current attempt and take no other; a signal handler may call this."""
        self._is_stopping = True
        if self._attempt:
            self._attempt.stop()

    def close(self) -> None:
        """Stop all threads and the warm runner, and close the connections."""
        self._registration.end()
        unreported = self._orphan_releaser.end()
        self._warm.close()
        self._record.close(unreported)
        self._api.close()

    def wait_for_work(self, tag: str, wait_seconds: int) -> AgentHint | None:
        """Wait until there may be work, or a device may be used again.

        See ServiceAPI.wait_for_work.
        """
        kinds = self.quarantine.healthy
        if not kinds:  # the machine or every device is at fault
            self._pause(CHECK_SECONDS)
            return None
        left = self.quarantine.seconds_left  # of a quarantine; infinite without one
        seconds = math.ceil(min(wait_seconds, max(left, 1.0)))
        hint = self._api.wait_for_work(self._settings.name, kinds, tag, seconds)
        if hint is not None:
            self.quarantine.drain(DRAIN_SECONDS if hint.draining else 0)
        return hint

    def _follow(self, orders: AgentOrders) -> None:
        """Follow the orders that the service gave with a registration."""
        self.quarantine.drain(DRAIN_SECONDS if orders.draining else 0)
        if orders.renew_token and self._settings.membership_file is not None:
            self._renew_token()

    def _renew_token(self) -> None:
        """Store and use another token. Raises ServiceUnavailable if it cannot be stored."""
        file = self._settings.membership_file
        assert file is not None  # noqa: S101 - an agent that has joined
        token = self._api.renew_token()
        try:
            Membership.read(file).with_token(token).write(file)
        except OSError as error:  # the former token still opens the renewal
            raise ServiceUnavailable(f"the renewed token cannot be stored: {error}") from error
        self._api.use_token(token)
        _log.info("token_renewed")

    def _sweep(self) -> None:
        try:
            for removed in sweep(self._settings.work_dir):
                _log.info("work_directory_removed", extra={"path": str(removed)})
        except OSError as error:  # a failing disk, for which the agent takes no job
            _log.warning("work_directories_not_swept", extra={"why": str(error)})

    def _pause(self, seconds: float) -> bool:
        time.sleep(seconds)
        return self._must_stop()

    def _must_stop(self) -> bool:
        """Return whether to stop; a signal handler may change this at any time."""
        return self._is_stopping
