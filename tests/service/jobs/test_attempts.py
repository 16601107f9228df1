"""Whatever happens in whatever order, a job's life is a legal one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import select, update

from ipulse_core import events as protocol
from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.capabilities import LACKED
from ipulse_core.errors import IllegalTransition, NotFound
from ipulse_core.states import (
    ACTIVE,
    COMPLETE,
    COUNTED,
    INFRASTRUCTURE,
    OUTCOMES,
    TERMINAL,
    JobState,
    Phase,
    Reason,
)
from ipulse_service.db import tables
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import (
    artifacts,
    attempts,
    deletion,
    finishing,
    leases,
    losses,
    store,
)
from ipulse_service.jobs.artifacts import NewArtifact
from ipulse_service.jobs.job import JobRow
from tests.service.jobs.life import LEASE_SECONDS, MAX_ATTEMPTS, LifeOfJobs, Token

pytestmark = pytest.mark.postgresql

held_by = st.integers(0, 7)  # which of the attempts made so far; also those that ended


class Life(LifeOfJobs):
    """Users, agents, the reaper and lost machines, all at the same real store."""

    @precondition(lambda self: self.tokens)
    @rule(which=held_by, phase=st.sampled_from(Phase))
    def enter(self, which: int, phase: Phase) -> None:
        self.report(which, protocol.PhaseEvent(phase=phase.value))

    @precondition(lambda self: self.tokens)
    @rule(which=held_by)
    def log(self, which: int) -> None:
        self.report(which, protocol.LogEvent(message="a line"))

    @precondition(lambda self: self.tokens)
    @rule(which=held_by, role=st.sampled_from(["manifest", "checkpoint"]))
    def leave(self, which: int, role: str) -> None:
        token = self.token(which)
        with closing(self.blobs.receive()) as incoming, self.speaking(token) as transaction:
            incoming.write(role.encode())
            incoming.sync()
            attempt = losses.hold(transaction, token.attempt_id, token.fence, LEASE_SECONDS)
            described = NewArtifact(name=role, role=role, media_type="text/plain")
            self.blobs.keep(incoming)
            artifacts.add(transaction, attempt, described, incoming)

    @precondition(lambda self: self.tokens)
    @rule(which=held_by, reason=st.sampled_from(Reason))
    def finish(self, which: int, reason: Reason) -> None:
        token = self.token(which)
        before = self.job(token.job_id)
        was = self.row(token)
        has_begun = was.next_event > 1
        is_back = reason not in (Reason.WORKER_LOST, Reason.WORKER_STOPPED)
        is_back = is_back and self.may_continue(token)
        with self.speaking(token, may_repeat=True, may_return=is_back) as transaction:
            attempt = losses.hold_to_finish(
                transaction, token.attempt_id, token.fence, AttemptOutcome(reason), LEASE_SECONDS
            )
            attempts.finish(transaction, attempt, AttemptOutcome(reason), self.settings)
        after = self.job(token.job_id)
        now = self.row(token)
        if now == was:
            assert after == before
        elif was.finished_at is None or is_back:
            spared = before.losses - (is_back and has_begun)
            is_free = reason not in COUNTED or (reason is Reason.WORKER_LOST and not has_begun)
            is_free = is_free or self.lacks_for_the_first_time(token, reason)
            self.check_outcome(before, reason, after, max(0, spared), is_free)
        else:
            assert (was.reason, now.reason) == ("worker_lost", "worker_stopped")
            assert after.state is before.state
            assert before.losses - has_begun <= after.losses <= before.losses

    def lacks_for_the_first_time(self, token: Token, reason: Reason) -> bool:
        """Whether the agent announced what this attempt did not find there, and no other before."""
        with self.database.read() as transaction:
            tried = leases.of_job(transaction, store.get(transaction, token.job_id).pk)
        others = [each.reason for each in tried if each.id != token.attempt_id]
        return reason in LACKED and reason.value not in others

    def check_outcome(
        self, before: JobRow, reason: Reason, after: JobRow, losses: int, is_free: bool
    ) -> None:
        """The effect of an attempt's end on its job, by reason and request."""
        is_lost = reason in INFRASTRUCTURE
        if reason in COMPLETE:
            assert after.state is OUTCOMES[reason]
        elif before.state is JobState.CANCELLING:
            assert before.reason is not None
            is_late = before.reason is Reason.DEADLINE_EXCEEDED
            assert after.state is (JobState.FAILED if is_late else JobState.CANCELLED)
            assert after.reason is before.reason
        elif before.state is JobState.PAUSING and (is_lost or reason is Reason.CANCELLED_BY_USER):
            assert after.state is JobState.PAUSED
        elif is_lost and (is_free or losses + 1 < MAX_ATTEMPTS):
            assert after.state is JobState.RETRY_WAIT
            assert after.losses == losses + (not is_free)
            assert after.due_at is not None
        elif reason is Reason.CANCELLED_BY_USER:
            assert after.state is JobState.CANCELLED
        else:
            assert (after.state, after.reason) == (JobState.FAILED, reason)

    @precondition(lambda self: self.tokens)
    @rule(which=held_by, seconds=st.sampled_from([LEASE_SECONDS / 2, LEASE_SECONDS]))
    def heartbeat(self, which: int, seconds: float) -> None:
        """The owner of a lease, also of one that ran out unseen, has it for so long from now."""
        token = self.token(which)
        with self.speaking(token) as transaction:
            attempt = losses.hold(transaction, token.attempt_id, token.fence, LEASE_SECONDS)
            leases.renew(transaction, attempt, seconds)
            assert attempt.id not in {one.id for one in leases.expired(transaction)}
            is_to_stop = finishing.orders(transaction, attempt).cancel
            state = store.get(transaction, token.job_id).state
            assert is_to_stop is (state in (JobState.CANCELLING, JobState.PAUSING))

    @precondition(lambda self: self.tokens)
    @rule(which=held_by)
    def lose_one_worker(self, which: int) -> None:
        """The lease of one attempt has expired."""
        token = self.token(which)
        others = {one.attempt_id: self.is_over(one) for one in self.tokens if one != token}
        with self.database.write() as transaction:
            this = update(tables.attempts).where(tables.attempts.c.id == token.attempt_id)
            transaction.connection.execute(this.values(lease_expires_at=1))
        with self.database.write() as transaction:
            attempts.reap(transaction, self.settings)
        assert self.is_over(token)
        for one in self.tokens:
            if one.attempt_id in others:
                assert self.is_over(one) is others[one.attempt_id]

    @precondition(lambda self: self.jobs)
    @rule(index=st.integers(0, 2))
    def delete(self, index: int) -> None:
        job_id = self.jobs[index % len(self.jobs)]
        job = self.job(job_id)
        with self.database.read() as transaction:
            used = self.used_by(transaction, job_id)
        try:
            with self.database.write() as transaction:
                deletion.delete_job(transaction, store.get(transaction, job_id))
        except deletion.NotOver:
            assert job.state not in TERMINAL
            return
        assert job.state in TERMINAL
        deletion.purge(self.database)
        with self.database.read() as transaction:
            for table in (tables.events, tables.attempts, tables.artifacts, tables.outbox):
                left = select(table.c.job_pk).where(table.c.job_pk == job.pk)
                assert transaction.connection.execute(left).all() == []
        for token in self.tokens:
            if token.job_id == job_id:
                with pytest.raises(NotFound), self.database.write() as transaction:
                    losses.hold(transaction, token.attempt_id, token.fence, LEASE_SECONDS)
        self.jobs.remove(job_id)
        self.used_by_deleted += used
        self.tokens = [token for token in self.tokens if token.job_id != job_id]

    @precondition(lambda self: self.tokens)
    @rule(which=held_by)
    def do_well(self, which: int) -> None:
        """Chance alone would hardly ever go through all of this in order."""
        self.enter(which, Phase.REPORT)
        self.leave(which, "manifest")
        self.finish(which, Reason.COMPLETED)

    @precondition(lambda self: self.jobs)
    @rule(index=st.integers(0, 2), change=st.sampled_from([attempts.pause, attempts.resume]))
    def pause_or_resume(self, index: int, change: Callable[[Transaction, JobRow], JobRow]) -> None:
        with suppress(IllegalTransition), self.database.write() as transaction:
            before = store.get(transaction, self.jobs[index % len(self.jobs)])
            after = change(transaction, before)
            if (before.state, after.state) == (JobState.PAUSED, JobState.QUEUED):
                self.placed[after.id] = after.queued_at

    @precondition(lambda self: self.jobs)
    @rule(index=st.integers(0, 2))
    def miss_a_deadline(self, index: int) -> None:
        job_id = self.jobs[index % len(self.jobs)]
        with self.database.write() as transaction:
            late = update(tables.jobs).where(tables.jobs.c.id == job_id)
            late = late.where(tables.jobs.c.deadline_at.is_not(None))
            transaction.connection.execute(late.values(total_seconds=0, deadline_at=1))
        with self.database.write() as transaction:
            attempts.expire(transaction)

    @precondition(lambda self: self.jobs)
    @rule(index=st.integers(0, 2))
    def cancel(self, index: int) -> None:
        with self.database.write() as transaction:
            job = store.get(transaction, self.jobs[index % len(self.jobs)])
            after = attempts.cancel(transaction, job)
        if job.state in ACTIVE or job.state is JobState.PAUSING:
            assert after.state is JobState.CANCELLING
        elif job.state in TERMINAL:
            assert after == job

    @rule()
    def lose_every_worker(self) -> None:
        with self.database.write() as transaction:
            transaction.connection.execute(update(tables.attempts).values(lease_expires_at=0))
            attempts.reap(transaction, self.settings)
            assert leases.expired(transaction) == []

    @rule()
    def let_time_pass(self) -> None:
        with self.database.write() as transaction:
            waiting = tables.jobs.c.due_at.is_not(None)
            transaction.connection.execute(update(tables.jobs).where(waiting).values(due_at=0))
            attempts.requeue(transaction)


@pytest.mark.sample(1)
def test_every_life_is_legal(database_settings: dict[str, str]) -> None:
    class LifeHere(Life):
        database_url = database_settings.get("database_url", "")

    limits = settings(
        max_examples=20,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
    )
    run_state_machine_as_test(LifeHere, settings=limits)
