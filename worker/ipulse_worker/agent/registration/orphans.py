"""Releases the leases of agents that died on this machine, before the leases expire."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.errors import IPUlseError, NotFound, StaleToken
from ipulse_core.states import Reason
from ipulse_worker.agent.registration.lease_record import DeadAgent, dead_agents
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.supervision.lease import AttemptLease

EVERY_SECONDS = 1.0

_log = logging.getLogger(__name__)


class OrphanReleaser:
    """A thread that looks in a work directory for the leases of dead agents.

    If it fails, or if no agent is alive on the machine, the leases expire by themselves.
    """

    def __init__(self, api: ServiceAPI, work_dir: Path) -> None:
        self._api = api
        self._work_dir = work_dir
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="orphans", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> None:
        """End the thread, without waiting for it."""
        self._ended.set()

    def _run(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            try:
                self.release()
            except (OSError, IPUlseError) as error:
                _log.warning("orphans_not_released", extra={"why": str(error)})
            pause = EVERY_SECONDS

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
            facts = {"attempt": held.attempt_id, "of": held.agent}
            lease = AttemptLease(held.attempt_id, held.fence, 0.0, 0.0)
            try:
                self._api.finish(
                    lease, AttemptOutcome(Reason.WORKER_LOST, f"{held.agent} has died")
                )
            except (StaleToken, NotFound) as error:
                _log.info("orphan_already_released", extra={**facts, "why": error.message})
            else:
                _log.info("orphan_released", extra=facts)
        dead.remove()
