"""Begins the trials of sweeps, and stores the results of their jobs."""

from __future__ import annotations

import logging
import threading

from ipulse_core.errors import Unavailable
from ipulse_service.db.engine import Database
from ipulse_service.jobs import store as job_store
from ipulse_service.sweeps import progress, proposals, store
from ipulse_service.sweeps.rows import Proposal

# The longest time between two looks at all sweeps: jobs may end at another replica.
TICK_SECONDS = 1.0
IDLE_SECONDS = 5.0  # while no sweep is open

_log = logging.getLogger(__name__)


class SweepController:
    """A thread that looks at all open sweeps when a job ends; each replica has one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stopping = threading.Event()
        self._changed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweeps")
        database.listeners.append(self._on_commit)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Returns once the thread has ended."""
        self._stopping.set()
        self._changed.set()
        self._thread.join()

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
        while can_go_on and not self._stopping.is_set():
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
            self._changed.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._changed.clear()
            seconds = TICK_SECONDS
            try:
                if not self.advance():
                    seconds = IDLE_SECONDS
            except Unavailable as error:
                _log.warning("sweeps_wait", extra={"error": str(error)})
                self._stopping.wait(TICK_SECONDS)
            except Exception:  # noqa: BLE001 - without this thread no sweep would continue
                _log.exception("sweeps_failed")
                self._stopping.wait(TICK_SECONDS)
            self._changed.wait(seconds)
