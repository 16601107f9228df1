"""Begins the trials of sweeps, and stores the results of their jobs."""

from __future__ import annotations

import logging

from ipulse_core.errors import Unavailable
from ipulse_core.repeating_thread import RepeatingThread
from ipulse_service.db.engine import Database
from ipulse_service.jobs import store as job_store
from ipulse_service.sweeps import progress, proposals, store
from ipulse_service.sweeps.rows import Proposal

# The longest time between two looks at all sweeps: jobs may end at another replica.
TICK_SECONDS = 1.0
IDLE_SECONDS = 5.0  # while no sweep is open

_log = logging.getLogger(__name__)


class SweepController(RepeatingThread):
    """A thread that looks at all open sweeps when a job ends; each replica has one."""

    def __init__(self, database: Database) -> None:
        super().__init__("sweeps", self._advance)
        self._database = database
        database.listeners.append(self._on_commit)

    def advance(self) -> bool:
        """Brings all open sweeps forward; returns whether there are any."""
        with self._database.read() as transaction:
            pks = store.open_pks(transaction)
        for pk in pks:
            try:
                self._advance_one(pk)
            except Unavailable:
                raise
            except Exception:  # noqa: BLE001 - the other sweeps continue
                _log.exception("sweep_failed", extra={"sweep": pk})
        return bool(pks)

    def _advance_one(self, pk: int) -> None:
        with self._database.read() as transaction:
            can_go_on = progress.is_due(transaction, pk)
        while can_go_on and not self.is_stopping:
            proposal = self._propose(pk)
            with self._database.write() as transaction:
                can_go_on = progress.advance(transaction, pk, proposal)

    def _propose(self, pk: int) -> Proposal | None:
        """Makes the proposal of the next trial, outside of transactions: it may take a while."""
        with self._database.read() as transaction:
            sweep = store.peek(transaction, pk)
            if sweep is None or not progress.may_begin(transaction, sweep):
                return None
            propose = proposals.propose(transaction, sweep)
        return propose()

    def _on_commit(self, topics: frozenset[str]) -> None:
        if store.TOPIC in topics or any(map(job_store.is_stop_topic, topics)):
            self.wake()

    def _advance(self) -> float:
        return TICK_SECONDS if self.advance() else IDLE_SECONDS
