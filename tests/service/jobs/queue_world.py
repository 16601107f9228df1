"""A queue and agents that claim from it, on a clock that a test sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import update

from ipulse.spec import parse_spec
from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.states import JobState, Reason
from ipulse_service.agents import registry
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.agents.needs import Needs
from ipulse_service.db import tables
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import DEFAULT_PROJECT, OWNER
from ipulse_service.jobs import attempts, store, submission, transitions
from ipulse_service.jobs.queue import claims, order
from ipulse_service.jobs.queue.claims import NotClaimable
from ipulse_service.jobs.queue.waiting import QueueView, Waiting
from ipulse_service.jobs.scheduling_options import SchedulingOptions
from ipulse_service.settings import Settings
from tests.service.running import SPEC

LEASE_SECONDS = 1e6
SETTINGS = Settings.model_construct(max_attempts=5, retry_seconds=1.0, preempt_after_seconds=600.0)
BEGIN = 1_800_000_000_000  # ms since 1970


@dataclass
class World:
    """A database and a clock, which only the test moves."""

    database: Database
    now: int = BEGIN

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        with self.database.write() as transaction:
            transaction.now = self.now
            yield transaction

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        with self.database.read() as transaction:
            transaction.now = self.now
            yield transaction

    def announce(self, agent: KnownAgent) -> None:
        with self.write() as transaction:
            registry.announce(transaction, agent)

    def submit(
        self, needs: Needs, priority: int = 0, project: str = DEFAULT_PROJECT, owner: str = OWNER
    ) -> int:
        """Add a job; returns its key."""
        resolved = submission.resolve(parse_spec(SPEC))
        options = SchedulingOptions(priority)
        with self.write() as transaction:
            job = transitions.add(
                transaction,
                resolved.spec,
                resolved.needs,
                resolved.text,
                resolved.sha256,
                options,
            )
            this = update(tables.jobs).where(tables.jobs.c.pk == job.pk)
            transaction.connection.execute(
                this.values(
                    device=needs.device,
                    ipus=needs.ipus,
                    data_set=needs.data_set,
                    pool=needs.pool,
                    project=project,
                    owner=owner,
                )
            )
        return job.pk

    def claim(self, agent: KnownAgent) -> claims.Claim | None:
        with self.write() as transaction:
            try:
                return claims.claim(
                    transaction, None, agent.name, agent.usable_kinds, LEASE_SECONDS
                )
            except NotClaimable:
                return None

    def end(self, claim: claims.Claim) -> None:
        """End a job with success, without files."""
        with self.write() as transaction:
            job = store.get_by_pk(transaction, claim.job.pk)
            for state in (JobState.RUNNING, JobState.REPORTING):
                if job.state is not state:
                    job = transitions.move(transaction, job, state)
            outcome = AttemptOutcome(Reason.COMPLETED)
            attempts.conclude(transaction, job, claim.attempt, outcome, SETTINGS)

    def waits(self, view: QueueView) -> dict[int, Waiting]:
        """Return the prediction for each queued job."""
        with self.read() as transaction:
            entries = order.entries(transaction)
            queued = [store.get_by_pk(transaction, entry.pk) for entry in entries]
            return view.waiting(transaction, queued)
