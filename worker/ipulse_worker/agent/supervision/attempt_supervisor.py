"""One attempt at a job, from the claim to the reported outcome.

`AttemptSupervisor.run` keeps the lease, makes a work directory, supervises a runner, uploads its
files and events, and reports the outcome.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.errors import IPUlseError, NotFound, StaleToken
from ipulse_core.events import PROTOCOL, Assignment, Event, LogEvent, ProgressEvent
from ipulse_core.messages import EVENTS_PER_COMMIT
from ipulse_core.states import Phase, Reason
from ipulse_core.worker_faults import WorkerFault, fault_of
from ipulse_worker.agent.registration.quarantine import Quarantine
from ipulse_worker.agent.retry_policy import TRIES, retry_while_unavailable
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import ServiceUnavailable
from ipulse_worker.agent.service_types import ClaimedJob, PiggybackedManifest
from ipulse_worker.agent.settings import AgentSettings
from ipulse_worker.agent.supervision.cancellation import CancelPoller
from ipulse_worker.agent.supervision.heartbeat import Heartbeat
from ipulse_worker.agent.supervision.inbox import Delivered, Inbox, LeaseLost
from ipulse_worker.agent.supervision.runner_exit import RunnerExit, StopCause, outcome_of
from ipulse_worker.agent.supervision.runner_messages import Violation
from ipulse_worker.agent.supervision.runner_supervisor import RunnerSupervisor
from ipulse_worker.agent.supervision.warm_runner_pool import WarmRunnerPool
from ipulse_worker.agent.supervision.work_directory import WorkDirectory
from ipulse_worker.agent.uploads.event_reporter import EventReporter
from ipulse_worker.agent.uploads.resumption import fetch_checkpoint
from ipulse_worker.agent.uploads.uploader import Uploader

DELIVERY_SECONDS = 4.0  # for the last uploads of an agent that is shutting down
LAST_TRIES = 3  # to report the outcome while the agent is shutting down

_log = logging.getLogger(__name__)


class AttemptSupervisor:
    """Runs one attempt in the thread that calls `run`; other threads use its inbox."""

    def __init__(
        self,
        claim: ClaimedJob,
        settings: AgentSettings,
        api: ServiceAPI,
        warm: WarmRunnerPool,
        quarantine: Quarantine,
    ) -> None:
        self._claim = claim
        self._claimed = time.monotonic()
        self._settings = settings
        self._api = api
        self._warm = warm
        self._quarantine = quarantine
        self._lease = claim.lease
        self._inbox = Inbox()
        self._shutting_down = False
        self.is_unreported = False  # the service does not know how it ended
        self._is_cancelled = threading.Event()
        self._facts = {"job": claim.job_id, "attempt": self._lease.attempt_id}

    def stop(self) -> None:
        """Stop the attempt because the agent shuts down or drains.

        A signal handler may call this.
        """
        self._inbox.put(StopCause.WORKER_STOPPED)

    def run(self) -> None:
        """Run the attempt; return when its outcome is reported, or cannot be.

        No process of the attempt is left then.
        """
        self._lease.on_loss(lambda why: self._inbox.put(LeaseLost(why)))
        heartbeat = Heartbeat(
            self._api,
            self._lease,
            self._claim.heartbeat_seconds,
            on_cancel=self._cancel,
            on_return=self.stop,
        )
        watch = CancelPoller(self._api, self._lease, on_cancel=self._cancel)
        work_directory = WorkDirectory(self._settings.work_dir, self._lease.attempt_id)
        try:
            with heartbeat, watch, work_directory as directory:
                try:
                    with self._lease.lost_by_failure("attempt"):
                        self._run_in(directory.path)
                except (StaleToken, NotFound) as error:
                    _log.warning("attempt_superseded", extra={**self._facts, "why": error.message})
                except IPUlseError as error:
                    # The files may exist nowhere else, and the attempt may not be over.
                    self.is_unreported = directory.is_kept = True
                    _log.error("attempt_not_reported", extra={**self._facts, "why": error.message})
        except (OSError, RuntimeError) as error:
            fault = fault_of(error, work_directory.path)
            if fault is None:
                raise
            self._give_back(fault)

    def _give_back(self, fault: WorkerFault) -> None:
        """Report that this machine cannot run the attempt; its runner has ended."""
        self._record(fault.reason, fault.message)
        try:
            retry_while_unavailable(
                lambda: self._api.finish(self._lease, AttemptOutcome(fault.reason, fault.message)),
                _pause,
                LAST_TRIES,
            )
        except IPUlseError as error:
            _log.error("attempt_not_reported", extra={**self._facts, "why": error.message})
        else:
            extra = {**self._facts, "reason": fault.reason.value, "detail": fault.message}
            _log.warning("attempt_given_back", extra=extra)

    def _record(self, reason: Reason, message: str) -> str:
        """Record a fault of device or machine, before the service hands the job out again."""
        quarantined = self._quarantine.record(self._claim.device_kind, reason, message)
        if quarantined:
            _log.warning("device_quarantined", extra={**self._facts, "why": quarantined})
        return quarantined

    def _cancel(self) -> None:
        """Stop the runner; two threads may call this, and the first one counts."""
        if not self._is_cancelled.is_set():
            self._is_cancelled.set()
            self._inbox.put(StopCause.CANCELLED)

    def _run_in(self, directory: Path) -> None:
        reporter = EventReporter(
            self._api,
            self._lease,
            on_refusal=lambda why: self._inbox.put(Violation(why)),
            on_end=lambda: self._inbox.put(Delivered()),
        )
        uploader = Uploader(
            self._api,
            self._lease,
            directory,
            on_stored=reporter.add,
            on_failure=lambda why: reporter.add(_remark(why, "warning")),
            on_end=lambda: self._inbox.put(Delivered()),
        )
        reporter.start()
        uploader.start()
        supervision = RunnerSupervisor(
            self._assignment(directory, reporter),
            self._claimed,
            self._settings,
            self._inbox,
            reporter,
            uploader,
            self._warm,
            self._facts,
        )
        runner_exit = supervision.run()
        self._report(self._deliver(runner_exit, reporter, uploader), reporter, uploader)

    def _assignment(self, directory: Path, reporter: EventReporter) -> Assignment:
        return Assignment(
            protocol=PROTOCOL,
            job_id=self._claim.job_id,
            attempt=self._claim.attempt,
            work_dir=str(directory),
            spec=self._claim.spec,
            checkpoint=self._resume(directory, reporter),
        )

    def _resume(self, directory: Path, reporter: EventReporter) -> str | None:
        """Download the checkpoint to resume from; return None to start from the beginning."""
        stored = self._claim.checkpoint
        if stored is None:
            return None
        downloading = f"downloading the checkpoint {stored.name}"
        reporter.add(ProgressEvent(Phase.PREPARE.value, 0.0, downloading))
        try:
            path = fetch_checkpoint(self._api, self._claim, stored, directory)
        except StaleToken:
            raise
        except IPUlseError as error:
            # Training from the beginning gives the same result; it only takes longer.
            why = f"{stored.name} cannot be downloaded, so training starts again: {error.message}"
            reporter.add(_remark(why, "warning"))
            return None
        reporter.add(_remark(f"Attempt {self._claim.attempt} resumes from {stored.name}."))
        return str(path)

    def _deliver(
        self, runner_exit: RunnerExit, reporter: EventReporter, uploader: Uploader
    ) -> AttemptOutcome:
        """Upload everything that the service does not have yet; a failure changes the outcome."""
        outcome = outcome_of(runner_exit)
        quarantined = self._record(outcome.reason, outcome.message)
        if quarantined:
            reporter.add(_remark(quarantined, "warning"))
        self._inbox.set_deadline(None)
        if runner_exit.stop is StopCause.WORKER_STOPPED:
            self._shut_down()
        if outcome.reason is Reason.COMPLETED:
            uploader.release_manifest()  # in case it was announced after the `done` event
        uploader.close()
        self._await_end(uploader)
        # An agent that shuts down sends all events first: it tries less often to report.
        reporter.close(max_unsent=0 if self._shutting_down else EVENTS_PER_COMMIT)
        self._await_end(reporter)
        delivered = _after_delivery(outcome, reporter, uploader)
        if delivered is not outcome:
            self._record(delivered.reason, delivered.message)
        return delivered

    def _await_end(self, part: EventReporter | Uploader) -> None:
        while not part.has_ended:
            message = self._inbox.next()
            if isinstance(message, LeaseLost):
                raise message.why
            if message is StopCause.WORKER_STOPPED:
                self._shut_down()
            elif message is None:
                self._lease.lose(
                    IPUlseError("the agent is shutting down and cannot wait any longer")
                )

    def _shut_down(self) -> None:
        self._shutting_down = True
        self._inbox.set_deadline(DELIVERY_SECONDS)

    def _report(self, outcome: AttemptOutcome, reporter: EventReporter, uploader: Uploader) -> None:
        """Report the outcome, the last events and the manifest in one request."""
        first, unsent = reporter.unsent
        manifest = uploader.piggybacked_manifest if outcome.reason is Reason.COMPLETED else None
        try:
            self._finish(outcome, first, unsent, manifest)
        except ServiceUnavailable as error:
            if not manifest or error.remote_code != Reason.ARTIFACT_STORE.value:
                raise
            why = f"{manifest.name} could not be stored: {error.message}"
            outcome = AttemptOutcome(Reason.ARTIFACT_STORE, why, outcome.summary)
            self._finish(outcome, first, unsent)
        except (StaleToken, NotFound):
            raise
        except IPUlseError:
            if not unsent and not manifest:
                raise
            # Sent one by one, to find which of them the service refuses.
            if unsent:
                reporter.send_unsent()
            if manifest:
                uploader.send_manifest()
            if self._lease.is_lost:
                raise
            outcome = _after_delivery(outcome, reporter, uploader)
            self._finish(outcome)
        _log.info(
            "attempt_ended",
            extra={**self._facts, "reason": outcome.reason.value, "detail": outcome.message},
        )

    def _finish(
        self,
        outcome: AttemptOutcome,
        first: int = 1,
        events: Sequence[Event] = (),
        manifest: PiggybackedManifest | None = None,
    ) -> None:
        retry_while_unavailable(
            lambda: self._api.finish(self._lease, outcome, first, events, manifest),
            self._lease.wait_for_loss,
            LAST_TRIES if self._shutting_down else TRIES,
        )


def _after_delivery(
    outcome: AttemptOutcome, reporter: EventReporter, uploader: Uploader
) -> AttemptOutcome:
    """Return the outcome, or a failure if a file or an event could not be stored."""
    if outcome.reason is Reason.COMPLETED and uploader.fault:
        return AttemptOutcome(uploader.fault.reason, uploader.fault.message)
    if outcome.reason is Reason.COMPLETED and uploader.failures:
        return AttemptOutcome(Reason.ARTIFACT_STORE, uploader.failures[0], outcome.summary)
    if outcome.reason is Reason.COMPLETED and reporter.refusal:
        return AttemptOutcome(Reason.RUNNER_ERROR, reporter.refusal)
    return outcome


def _pause(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def _remark(message: str, level: Literal["info", "warning"] = "info") -> LogEvent:
    return LogEvent(message=message, level=level, stream="agent")
