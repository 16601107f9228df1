"""The end of an attempt: its last files and events are sent, then its outcome."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.errors import IPUlseError, NotFound, StaleToken
from ipulse_core.events import Event
from ipulse_core.messages import EVENTS_PER_COMMIT
from ipulse_core.states import COMPLETE, COUNTED, Reason
from ipulse_worker.agent.lease import AttemptLease
from ipulse_worker.agent.retry_policy import TRIES, retry_while_unavailable
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import ServiceUnavailable
from ipulse_worker.agent.service_types import PiggybackedManifest
from ipulse_worker.agent.supervision.inbox import Inbox, LeaseLost
from ipulse_worker.agent.supervision.runner_exit import RunnerExit, StopCause, outcome_of
from ipulse_worker.agent.uploads.event_reporter import EventReporter
from ipulse_worker.agent.uploads.uploader import Uploader

DELIVERY_SECONDS = 4.0  # for the last uploads of an agent that is shutting down
LAST_TRIES = 3  # to report the outcome of an agent that shuts down or gives the job back

_log = logging.getLogger(__name__)


class ShutDown(IPUlseError):
    """The agent is shutting down and cannot wait any longer."""

    code = "shut_down"


class Delivery:
    """Delivers the rest of one attempt in the thread that calls `run`."""

    def __init__(
        self,
        api: ServiceAPI,
        lease: AttemptLease,
        inbox: Inbox,
        reporter: EventReporter,
        uploader: Uploader,
        record: Callable[[AttemptOutcome], tuple[AttemptOutcome, str]],
        facts: Mapping[str, str],
    ) -> None:
        """Prepare the delivery.

        Args:
            api: The service.
            lease: The lease of the attempt.
            inbox: The attempt's inbox, which reports the end of the reporter and the uploader.
            reporter: The reporter of the attempt's events.
            uploader: The uploader of its files.
            record: Records an outcome; returns it with what the machine lacked, and a sentence if
                the agent takes fewer jobs for it.
            facts: The attempt, for the agent's log.
        """
        self._api = api
        self._lease = lease
        self._inbox = inbox
        self._reporter = reporter
        self._uploader = uploader
        self._record = record
        self._facts = facts
        self._shutting_down = False
        self.outcome: AttemptOutcome | None = None  # of the runner, once that has ended

    def run(self, runner_exit: RunnerExit) -> None:
        """Deliver everything and report the outcome. Raises IPUlseError if that is not possible.

        An absent service is waited for, unless the agent shuts down.
        """
        self._lease.may_expire = not runner_exit.shuts_down
        self._report(self._deliver(runner_exit))

    def _deliver(self, runner_exit: RunnerExit) -> AttemptOutcome:
        """Upload everything that the service does not have yet; a failure changes the outcome."""
        outcome, quarantined = self._record(outcome_of(runner_exit))
        self.outcome = outcome
        if quarantined:
            self._reporter.remark(quarantined, "warning")
        self._inbox.set_deadline(None)
        if runner_exit.stop is StopCause.WORKER_STOPPED:
            self._shut_down()
        if outcome.reason in COMPLETE:
            self._uploader.release_manifest()  # in case it was announced after the `done` event
        self._uploader.close()
        self._await_end(self._uploader)
        # An agent that shuts down sends all events first: it tries less often to report.
        self._reporter.close(max_unsent=0 if self._shutting_down else EVENTS_PER_COMMIT)
        self._await_end(self._reporter)
        delivered = self._after_delivery(outcome)
        if delivered is not outcome:
            delivered, _ = self._record(delivered)
        return delivered

    def _await_end(self, part: EventReporter | Uploader) -> None:
        while not part.has_ended:
            message = self._inbox.next()
            if isinstance(message, LeaseLost):
                raise message.why
            if message is StopCause.WORKER_STOPPED:
                self._shut_down()
            elif message is None:
                self._lease.lose(ShutDown())

    def _shut_down(self) -> None:
        self._shutting_down = True
        self._inbox.set_deadline(DELIVERY_SECONDS)

    def _report(self, outcome: AttemptOutcome) -> None:
        """Report the outcome, the last events and the manifest in one request."""
        first, unsent = self._reporter.unsent
        is_complete = outcome.reason in COMPLETE
        manifest = self._uploader.piggybacked_manifest if is_complete else None
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
                self._reporter.send_unsent()
            if manifest:
                self._uploader.send_manifest()
            if self._lease.is_lost:
                raise
            outcome = self._after_delivery(outcome)
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
            self._pause,
            LAST_TRIES if self._shutting_down else TRIES,
            outlasts_absence=not self._shutting_down,
        )

    def _pause(self, seconds: float) -> bool:
        """Sleep; return True if there is nobody to report to, or no time left for it."""
        if self._lease.wait_for_loss(seconds):
            return True
        if self._shutting_down:
            return False
        self._inbox.set_deadline(0.0)
        while message := self._inbox.next():
            self._shutting_down |= message is StopCause.WORKER_STOPPED
        return self._shutting_down

    def _after_delivery(self, outcome: AttemptOutcome) -> AttemptOutcome:
        """Return the outcome, or a failure if a file or an event could not be stored."""
        if outcome.reason not in COMPLETE:
            return outcome
        if self._uploader.fault:
            return AttemptOutcome(self._uploader.fault.reason, self._uploader.fault.message)
        if self._uploader.failures:
            return AttemptOutcome(
                Reason.ARTIFACT_STORE, self._uploader.failures[0], outcome.summary
            )
        if self._reporter.refusal:
            return AttemptOutcome(Reason.RUNNER_ERROR, self._reporter.refusal)
        return outcome


def late_outcome(delivery: Delivery | None, why: IPUlseError) -> AttemptOutcome:
    """Return the outcome to report once the service answers; `why` it could not be reported.

    Results that were not delivered are lost: another attempt continues from a checkpoint.
    """
    outcome = delivery.outcome if delivery else None
    if outcome and (outcome.reason in COUNTED or outcome.reason is Reason.WORKER_STOPPED):
        return outcome
    if isinstance(why, (ServiceUnavailable, ShutDown)):
        message = f"The agent gave it up: {why.message.rstrip('.')}."
        return AttemptOutcome(Reason.WORKER_STOPPED, message)
    return AttemptOutcome(Reason.WORKER_LOST, "The agent could not report the outcome.")
