"""One attempt at a job, from the claim to the verdict.

`Attempt.run` is a staircase: keep the lease, have a directory, supervise a runner, deliver what
it made, report the verdict. Each step knows only the next one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from ipulse_core.errors import IPUlseError, NotFound, StaleToken
from ipulse_core.events import PROTOCOL, Assignment, Event, LogEvent
from ipulse_core.messages import EVENTS_PER_COMMIT
from ipulse_core.states import Reason
from ipulse_worker.agent.registration.quarantine import Quarantine
from ipulse_worker.agent.retry_policy import TRIES, patiently
from ipulse_worker.agent.service_api import Claim, ManifestFile, ServiceAPI
from ipulse_worker.agent.service_responses import ServiceUnavailable
from ipulse_worker.agent.settings import Settings
from ipulse_worker.agent.supervision.attempt_outcome import Ending, StopCause, Verdict, judge
from ipulse_worker.agent.supervision.cancellation import CancelWatch
from ipulse_worker.agent.supervision.heartbeat import Heartbeat
from ipulse_worker.agent.supervision.inbox import Delivered, Inbox, LeaseLost
from ipulse_worker.agent.supervision.runner_messages import Violation
from ipulse_worker.agent.supervision.runner_supervisor import Supervision
from ipulse_worker.agent.supervision.warm_runner_pool import WarmRunner
from ipulse_worker.agent.supervision.work_directory import WorkDirectory
from ipulse_worker.agent.uploads.event_reporter import Reporter
from ipulse_worker.agent.uploads.resumption import fetch_checkpoint
from ipulse_worker.agent.uploads.uploader import Uploader

DELIVERY_SECONDS = 4.0  # for the last words of an agent that is shutting down
LAST_TRIES = 3  # to report a verdict then

_log = logging.getLogger(__name__)


class Attempt:
    """Runs in the thread that calls `run`; all others only leave letters in its inbox."""

    def __init__(
        self,
        claim: Claim,
        settings: Settings,
        api: ServiceAPI,
        warm: WarmRunner,
        quarantine: Quarantine,
    ) -> None:
        self._claim = claim
        self._settings = settings
        self._api = api
        self._warm = warm
        self._quarantine = quarantine
        self._lease = claim.lease
        self._inbox = Inbox()
        self._is_in_a_hurry = False
        self._is_cancelled = threading.Event()
        self._facts = {"job": claim.job_id, "attempt": self._lease.attempt_id}

    def stop(self) -> None:
        """The agent is shutting down. May be called by a signal handler."""
        self._inbox.put(StopCause.WORKER_STOPPED)

    def run(self) -> None:
        """Returns when the verdict is reported, or cannot be; no process is left then."""
        self._lease.on_loss(lambda why: self._inbox.put(LeaseLost(why)))
        heartbeat = Heartbeat(
            self._api, self._lease, self._claim.heartbeat_seconds, on_cancel=self._cancel
        )
        watch = CancelWatch(self._api, self._lease, on_cancel=self._cancel)
        work_directory = WorkDirectory(self._settings.work_dir, self._lease.attempt_id)
        with heartbeat, watch, work_directory as directory:
            try:
                with self._lease.lost_by_failure("attempt"):
                    self._work_in(directory.path)
            except (StaleToken, NotFound) as error:
                _log.warning("attempt_superseded", extra={**self._facts, "why": error.message})
            except IPUlseError as error:
                directory.is_kept = True  # what is in there may be nowhere else
                _log.error("attempt_not_reported", extra={**self._facts, "why": error.message})

    def _cancel(self) -> None:
        """Two threads may learn of it; the first is heard."""
        if not self._is_cancelled.is_set():
            self._is_cancelled.set()
            self._inbox.put(StopCause.CANCELLED)

    def _work_in(self, directory: Path) -> None:
        reporter = Reporter(
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
        supervision = Supervision(
            self._assignment(directory, reporter),
            self._settings,
            self._inbox,
            reporter,
            uploader,
            self._warm,
            self._facts,
        )
        ending = supervision.run()
        self._report(self._deliver(ending, reporter, uploader), reporter, uploader)

    def _assignment(self, directory: Path, reporter: Reporter) -> Assignment:
        return Assignment(
            protocol=PROTOCOL,
            job_id=self._claim.job_id,
            attempt=self._claim.attempt,
            work_dir=str(directory),
            spec=self._claim.spec,
            checkpoint=self._resume(directory, reporter),
        )

    def _resume(self, directory: Path, reporter: Reporter) -> str | None:
        """The checkpoint to go on from, here on disk; None to start from the beginning."""
        stored = self._claim.checkpoint
        if stored is None:
            return None
        try:
            path = fetch_checkpoint(self._api, self._claim, stored, directory)
        except StaleToken:
            raise
        except IPUlseError as error:
            # The same seed leads to the same result from the beginning; it only takes longer.
            why = f"{stored.name} cannot be had, so training starts again: {error.message}"
            reporter.add(_remark(why, "warning"))
            return None
        reporter.add(_remark(f"Attempt {self._claim.attempt} goes on from {stored.name}."))
        return str(path)

    def _deliver(self, ending: Ending, reporter: Reporter, uploader: Uploader) -> Verdict:
        """Sees everything off that the service does not have yet; that may change the verdict."""
        verdict = judge(ending)
        left_alone = self._quarantine.saw(self._claim.device_kind, verdict.reason)
        if left_alone:  # before the service hands the job out again
            reporter.add(_remark(left_alone, "warning"))
            _log.warning("device_left_alone", extra={**self._facts, "why": left_alone})
        self._inbox.expect_within(None)
        if ending.stop is StopCause.WORKER_STOPPED:
            self._hurry()
        if verdict.reason is Reason.COMPLETED:
            uploader.release_manifest()  # if it was announced after the runner had said `done`
        uploader.close()
        self._await_end(uploader)
        # A verdict is waited for longer than an agent in a hurry waits for the rest.
        reporter.close(may_leave=0 if self._is_in_a_hurry else EVENTS_PER_COMMIT)
        self._await_end(reporter)
        return _after_delivery(verdict, reporter, uploader)

    def _await_end(self, part: Reporter | Uploader) -> None:
        while not part.has_ended:
            letter = self._inbox.next()
            if isinstance(letter, LeaseLost):
                raise letter.why
            if letter is StopCause.WORKER_STOPPED:
                self._hurry()
            elif letter is None:
                self._lease.lose(IPUlseError("the agent is shutting down and can wait no longer"))

    def _hurry(self) -> None:
        self._is_in_a_hurry = True
        self._inbox.expect_within(DELIVERY_SECONDS)

    def _report(self, verdict: Verdict, reporter: Reporter, uploader: Uploader) -> None:
        """With the last events and the manifest, in one request: somebody waits for the end."""
        first, rest = reporter.rest
        manifest = uploader.to_carry if verdict.reason is Reason.COMPLETED else None
        try:
            self._finish(verdict, first, rest, manifest)
        except ServiceUnavailable as error:
            if not manifest or error.remote_code != Reason.ARTIFACT_STORE.value:
                raise
            why = f"{manifest.name} could not be stored: {error.message}"
            verdict = Verdict(Reason.ARTIFACT_STORE, why, verdict.summary)
            self._finish(verdict, first, rest)
        except (StaleToken, NotFound):
            raise
        except IPUlseError:
            if not rest and not manifest:
                raise
            # Each by itself, to learn which of them is refused.
            if rest:
                reporter.send_rest()
            if manifest:
                uploader.send_manifest()
            if self._lease.is_lost:
                raise
            verdict = _after_delivery(verdict, reporter, uploader)
            self._finish(verdict)
        _log.info(
            "attempt_ended",
            extra={**self._facts, "reason": verdict.reason.value, "detail": verdict.message},
        )

    def _finish(
        self,
        verdict: Verdict,
        first: int = 1,
        events: Sequence[Event] = (),
        manifest: ManifestFile | None = None,
    ) -> None:
        patiently(
            lambda: self._api.finish(self._lease, verdict, first, events, manifest),
            self._lease.wait_for_loss,
            LAST_TRIES if self._is_in_a_hurry else TRIES,
        )


def _after_delivery(verdict: Verdict, reporter: Reporter, uploader: Uploader) -> Verdict:
    """The verdict, or what becomes of it where the service does not have all that belongs to it."""
    if verdict.reason is Reason.COMPLETED and uploader.failures:
        return Verdict(Reason.ARTIFACT_STORE, uploader.failures[0], verdict.summary)
    if verdict.reason is Reason.COMPLETED and reporter.refusal:
        return Verdict(Reason.RUNNER_ERROR, reporter.refusal)
    return verdict


def _remark(message: str, level: Literal["info", "warning"] = "info") -> LogEvent:
    return LogEvent(message=message, level=level, stream="agent")
