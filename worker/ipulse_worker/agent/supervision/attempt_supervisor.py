"""One attempt at a job, from the claim to the reported outcome.

`AttemptSupervisor.run` keeps the lease, makes a work directory, supervises a runner, uploads its
files and events, and reports the outcome.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.capabilities import LACKED
from ipulse_core.errors import IPUlseError, NotFound, StaleToken
from ipulse_core.events import PROTOCOL, Assignment, DoneEvent, ProgressEvent
from ipulse_core.states import Phase, Reason
from ipulse_core.worker_faults import WorkerFault, fault_of
from ipulse_worker.agent.datasets.dataset_cache import DatasetCache
from ipulse_worker.agent.datasets.dataset_download import DatasetNotDownloaded, dataset_linked
from ipulse_worker.agent.registration.host_check import HostCheck
from ipulse_worker.agent.registration.quarantine import Quarantine
from ipulse_worker.agent.retry_policy import retry_while_unavailable
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import ServiceUnavailable
from ipulse_worker.agent.service_types import ClaimedJob
from ipulse_worker.agent.settings import AgentSettings
from ipulse_worker.agent.supervision.attempt_files import AttemptFiles, StartFileMissing
from ipulse_worker.agent.supervision.delivery import LAST_TRIES, Delivery, late_outcome
from ipulse_worker.agent.supervision.heartbeat import CancelPoller, Heartbeat
from ipulse_worker.agent.supervision.inbox import (
    Delivered,
    FinishOrder,
    Inbox,
    LeaseLost,
    StopOrdered,
)
from ipulse_worker.agent.supervision.runner_exit import RunnerExit, StopCause
from ipulse_worker.agent.supervision.runner_messages import Violation
from ipulse_worker.agent.supervision.runner_supervisor import RunnerSupervisor
from ipulse_worker.agent.supervision.warm_runner_pool import WarmRunnerPool
from ipulse_worker.agent.uploads.event_reporter import EventReporter
from ipulse_worker.agent.uploads.uploader import Uploader
from ipulse_worker.agent.work_directory import WorkDirectory

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
        host: HostCheck,
        on_lack: Callable[[], None],
    ) -> None:
        """Prepare the attempt; `on_lack` is called if this machine lacked what it announces."""
        self._claim = claim
        self._claimed = time.monotonic()
        self._settings = settings
        self._api = api
        self._warm = warm
        self._quarantine = quarantine
        self._host = host
        self._on_lack = on_lack
        self._lease = claim.lease
        self._inbox = Inbox()
        self.unreported: AttemptOutcome | None = None  # what the service does not know yet
        self._delivery: Delivery | None = None
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
            on_finish=self._finish,
            on_return=self.stop,
        )
        watch = CancelPoller(self._api, self._lease, self._cancel, self._finish)
        work_directory = WorkDirectory(self._settings.work_dir, self._lease.attempt_id)
        try:
            with heartbeat, watch, work_directory as directory:
                try:
                    with self._lease.lost_by_failure("attempt"):
                        self._run_in(directory.path)
                except IPUlseError as error:
                    why = self._lease.loss or error
                    extra = {**self._facts, "why": why.message}
                    if isinstance(why, (StaleToken, NotFound)):
                        _log.warning("attempt_superseded", extra=extra)
                    else:
                        # The files may exist nowhere else, and the attempt may not be over.
                        directory.is_kept = True
                        self.unreported = late_outcome(self._delivery, why)
                        _log.error("attempt_not_reported", extra=extra)
        except DatasetNotDownloaded as error:
            self._give_back(WorkerFault(Reason.DATA_UNAVAILABLE, f"{error}"))
        except (OSError, RuntimeError) as error:
            fault = fault_of(error, work_directory.path)
            if fault is None:
                raise
            self._give_back(fault)

    def _give_back(self, fault: WorkerFault) -> None:
        """Report that this machine cannot run the attempt; its runner has ended."""
        outcome, _ = self._record(AttemptOutcome(fault.reason, fault.message))
        try:
            retry_while_unavailable(
                lambda: self._api.finish(self._lease, outcome),
                threading.Event().wait,  # which nothing cuts short
                LAST_TRIES,
            )
        except IPUlseError as error:
            if isinstance(error, ServiceUnavailable):
                self.unreported = outcome
            _log.error("attempt_not_reported", extra={**self._facts, "why": error.message})
        else:
            extra = {**self._facts, "reason": fault.reason.value, "detail": fault.message}
            _log.warning("attempt_given_back", extra=extra)

    def _record(self, outcome: AttemptOutcome) -> tuple[AttemptOutcome, str]:
        """Record a fault of device or machine, before the service hands the job out again.

        Returns the outcome with what the machine lacked, and a sentence if the agent takes fewer
        jobs for it.
        """
        directory = self._settings.work_dir / self._lease.attempt_id
        if outcome.reason in LACKED:
            self._on_lack()
        lacking = self._host.lacking(outcome, directory)
        quarantined = self._quarantine.record(
            self._claim.device_kind, outcome.reason, outcome.message
        )
        if quarantined:
            _log.warning("device_quarantined", extra={**self._facts, "why": quarantined})
        return replace(outcome, lacking=lacking), quarantined

    def _cancel(self) -> None:
        """Stop the runner; two threads may call this, and the first one counts."""
        if not self._is_cancelled.is_set():
            self._is_cancelled.set()
            self._inbox.put(StopCause.CANCELLED)

    def _finish(self) -> None:
        """End the training now; two threads may call this, and the runner heeds one of them."""
        self._inbox.put(FinishOrder())

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
            on_failure=lambda why: reporter.remark(why, "warning"),
            on_end=lambda: self._inbox.put(Delivered()),
        )
        reporter.start()
        uploader.start()
        self._delivery = delivery = Delivery(
            self._api, self._lease, self._inbox, reporter, uploader, self._record, self._facts
        )
        downloading = ProgressEvent(Phase.PREPARE.value, 0.0, "downloading the data set")
        try:
            with dataset_linked(
                self._api,
                self._claim,
                DatasetCache(self._settings.dataset_cache, self._settings.dataset_cache_bytes),
                directory,
                on_download=lambda: reporter.add(downloading),
                pause=self._pause,
            ):
                try:
                    assignment = self._assignment(directory, reporter)
                except StartFileMissing as missing:
                    done = DoneEvent(Reason.DATA_UNAVAILABLE.value, missing.message)
                    delivery.run(RunnerExit(done, exit_code=0))
                    return
                supervision = RunnerSupervisor(
                    assignment,
                    self._claimed,
                    self._settings,
                    self._inbox,
                    reporter,
                    uploader,
                    self._warm,
                    self._facts,
                )
                delivery.run(supervision.run())
        except StopOrdered as order:
            done = DoneEvent(Reason.CANCELLED_BY_USER.value, "")
            delivery.run(RunnerExit(done, exit_code=0, stop=order.cause))

    def _pause(self, seconds: float) -> bool:
        """Sleep between two tries to download; return True if the lease is lost.

        Raises StopOrdered.
        """
        is_lost = self._lease.wait_for_loss(seconds)
        if not is_lost:
            self._inbox.check_stop()
        return is_lost

    def _assignment(self, directory: Path, reporter: EventReporter) -> Assignment:
        files = AttemptFiles(self._api, self._claim, directory, reporter, self._pause)
        checkpoint = files.checkpoint()
        start = self._claim.start_from
        # The package of a program is needed in every attempt.
        if checkpoint is not None and start is not None and start.mode != "package":
            start = None
        return Assignment(
            protocol=PROTOCOL,
            job_id=self._claim.job_id,
            attempt=self._claim.attempt,
            work_dir=str(directory),
            spec=self._claim.spec,
            checkpoint=checkpoint,
            start_from=None if start is None else files.start_file(start),
            start_mode=None if start is None else start.mode,
            ops=files.ops(),
        )
