"""Gives back the jobs of agents that died here, sooner than their leases would run out."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from ipulse_core.errors import IPUlseError, NotFound, StaleToken
from ipulse_core.states import Reason
from ipulse_worker.agent.registration.lease_record import DeadAgent, dead_agents
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.supervision.attempt_outcome import Verdict
from ipulse_worker.agent.supervision.lease import Lease

EVERY_SECONDS = 1.0

_log = logging.getLogger(__name__)


class Orphans:
    """A thread that looks for them in a work directory, also for those of other agents.

    Should it fail, or no agent be left on the machine, the leases end all the same, only later.
    """

    def __init__(self, api: ServiceAPI, work_dir: Path) -> None:
        self._api = api
        self._work_dir = work_dir
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="orphans", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            try:
                self.give_back()
            except (OSError, IPUlseError) as error:
                _log.warning("orphans_not_given_back", extra={"why": str(error)})
            pause = EVERY_SECONDS

    def give_back(self) -> None:
        """Raises IPUlseError when the service cannot be told, OSError when a disk fails."""
        for found in dead_agents(self._work_dir):
            with found as dead:
                if dead:
                    self._bury(dead)

    def _bury(self, dead: DeadAgent) -> None:
        left = dead.left()
        if left:
            facts = {"attempt": left.attempt_id, "of": left.agent}
            lease = Lease(left.attempt_id, left.fence, 0.0, 0.0)
            try:
                self._api.finish(lease, Verdict(Reason.WORKER_LOST, f"{left.agent} has died"))
            except (StaleToken, NotFound) as error:
                _log.info("orphan_was_given_back", extra={**facts, "why": error.message})
            else:
                _log.info("orphan_given_back", extra=facts)
        dead.bury()
