"""Ends attempts that nobody works on any more, and removes their files at once.

These are attempts of agents that died on this machine, before their leases expire, and attempts
whose outcome this agent could not report.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from pathlib import Path

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.errors import IPUlseError, NotFound, StaleToken
from ipulse_core.repeating_thread import RepeatingThread
from ipulse_core.states import Reason
from ipulse_worker.agent.lease import AttemptLease
from ipulse_worker.agent.registration.lease_record import DeadAgent, HeldLease, dead_agents
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.work_directory import remove_of_attempt

EVERY_SECONDS = 1.0
# Between two tries to end an attempt that could not be reported. It is shorter than the time that a
# service gives its agents after its start.
UNREPORTED_SECONDS = 1.0

_log = logging.getLogger(__name__)


class OrphanReleaser:
    """A thread that looks in a work directory for the leases and files of dead agents.

    If it fails, or if no agent is alive on the machine, the leases expire by themselves.
    """

    def __init__(self, api: ServiceAPI, work_dir: Path) -> None:
        self._api = api
        self._work_dir = work_dir
        self._unreported: deque[tuple[AttemptLease, AttemptOutcome]] = deque()
        self._next_try = 0.0
        self._trouble = ""
        self._thread = RepeatingThread("orphans", self._turn, is_daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> HeldLease | None:
        """End the thread, without waiting for it; return what it could not report, if anything."""
        self._thread.end()
        try:
            lease, outcome = self._unreported[0]
        except IndexError:
            return None
        reason, message = outcome.reason.value, outcome.message
        return HeldLease("this agent", lease.attempt_id, lease.fence, reason, message)

    def add_unreported(self, lease: AttemptLease, outcome: AttemptOutcome) -> None:
        """Report the outcome as soon as the service answers, and remove the attempt's files."""
        self._unreported.append((lease, outcome))

    def _turn(self) -> float:
        try:
            self.release()
            self._end_unreported()
            self._trouble = ""
        except (OSError, IPUlseError) as error:
            if str(error) != self._trouble:  # a failing disk stays so for hours
                self._trouble = str(error)
                _log.warning("orphans_not_released", extra={"why": self._trouble})
        return EVERY_SECONDS

    def release(self) -> None:
        """Release the leases of all dead agents once.

        Raises IPUlseError if the service cannot be reached, OSError if a disk fails.
        """
        for agent in dead_agents(self._work_dir):
            with agent as dead:
                if dead:
                    self._release(dead)

    def _release(self, dead: DeadAgent) -> None:
        held = dead.held_lease()
        if held:
            lease = AttemptLease(held.attempt_id, held.fence, 0.0, 0.0)
            outcome = AttemptOutcome(Reason.WORKER_LOST, f"{held.agent} has died")
            if held.reason:  # it has ended without being able to report
                outcome = AttemptOutcome(Reason(held.reason), held.message)
            self._end(lease, outcome, held.agent)
        dead.remove()

    def _end_unreported(self) -> None:
        if not self._unreported or time.monotonic() < self._next_try:
            return
        self._next_try = time.monotonic() + UNREPORTED_SECONDS
        self._end(*self._unreported[0], "this agent")
        self._unreported.popleft()

    def _end(self, lease: AttemptLease, outcome: AttemptOutcome, agent: str) -> None:
        """End an attempt and remove its files."""
        facts = {"attempt": lease.attempt_id, "of": agent}
        try:
            self._api.finish(lease, outcome)
        except (StaleToken, NotFound) as error:
            _log.info("orphan_already_released", extra={**facts, "why": error.message})
        else:
            _log.info("orphan_released", extra=facts)
        remove_of_attempt(self._work_dir, lease.attempt_id)
