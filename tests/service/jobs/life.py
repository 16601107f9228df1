"""Jobs at a real store, from submission to end, and what holds for each at any time."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from hypothesis import event
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from sqlalchemy import delete, select

from ipulse.spec import parse_spec
from ipulse_core.errors import Conflict, StaleToken
from ipulse_core.events import CheckpointEvent
from ipulse_core.states import (
    ACTIVE,
    TERMINAL,
    TRANSITIONS,
    JobState,
    Reason,
)
from ipulse_service.db import migrations, tables
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.files.blobs import Blobs
from ipulse_service.jobs import (
    artifacts,
    events,
    leases,
    losses,
    store,
    submission,
)
from ipulse_service.jobs import (
    worker_reports as reports,
)
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.queue import claims
from ipulse_service.jobs.scheduling_options import SchedulingOptions
from ipulse_service.quotas import usage
from ipulse_service.settings import Settings
from tests.service.running import SPEC

MAX_ATTEMPTS = 3
LEASE_SECONDS = 3600.0  # leases end only when a rule says so
LIMITED = SchedulingOptions(total_seconds=3600)  # passes only when a rule says so
CHECKED = submission.resolve(parse_spec(SPEC))


@dataclass(frozen=True)
class Token:
    """An agent's copy of a claim."""

    attempt_id: str
    fence: str
    job_id: str


class LifeOfJobs(RuleBasedStateMachine):
    """Submits and claims jobs; after every step, the life of each is a legal one."""

    database_url = ""  # a file in the home unless it is said

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.settings = Settings(home=self.home, max_attempts=MAX_ATTEMPTS)
        self.database = Database(self.database_url or self.settings.database_url)
        migrations.upgrade(self.database)
        with self.database.write() as transaction:  # a server's database outlives an example
            for table in reversed(tables.metadata.sorted_tables):
                transaction.connection.execute(delete(table))
        self.blobs = Blobs(self.home / "artifacts")
        self.blobs.prepare()
        self.jobs: list[str] = []
        self.tokens: list[Token] = []
        self.versions: dict[str, int] = {}
        self.over: dict[str, JobRow] = {}
        self.placed: dict[str, int] = {}
        self.used_by_deleted: list[tuple[str, int]] = []  # as from used_by
        self.furthest: dict[str, int] = {}  # steps of stored checkpoints, by job

    def teardown(self) -> None:
        for job_id in self.jobs:
            event(f"a job ended up {self.job(job_id).state.value}")
        self.database.close()
        shutil.rmtree(self.home)

    @initialize()
    def start(self) -> None:
        self.submit()

    @precondition(lambda self: len(self.jobs) < 3)
    @rule()
    def submit(self) -> None:
        submitted = submission.submit(
            self.database, submission.Submission(CHECKED, LIMITED), "user", None
        )
        self.jobs.append(submitted.job.id)
        self.placed[submitted.job.id] = submitted.job.queued_at

    @precondition(lambda self: self.jobs)
    @rule(index=st.integers(0, 2))
    def claim(self, index: int) -> None:
        job_id = self.jobs[index % len(self.jobs)]
        was = self.job(job_id).state
        first = self.first_in_line()
        try:
            with self.database.write() as transaction:
                claim = claims.claim(transaction, job_id, "agent", ["cpu"], LEASE_SECONDS)
        except claims.NotClaimable:
            assert was is not JobState.QUEUED
        else:
            assert was is JobState.QUEUED
            assert claim.job.id == first
            self.tokens.append(Token(claim.attempt.id, claim.fence, first))

    def first_in_line(self) -> str:
        """The order of submission or resumption, whatever was lost meanwhile."""
        rows = [self.job(job_id) for job_id in self.jobs]
        queued = [
            (self.placed[job.id], job.pk, job.id) for job in rows if job.state is JobState.QUEUED
        ]
        return min(queued)[2] if queued else ""

    def report(self, which: int, event: reports.Reportable) -> None:
        token = self.token(which)
        with self.speaking(token) as transaction:
            attempt = losses.hold(transaction, token.attempt_id, token.fence, LEASE_SECONDS)
            reports.record(transaction, attempt, attempt.next_event, [event])

    @precondition(lambda self: self.tokens)
    @rule(which=st.integers(0, 7), step=st.integers(1, 3))
    def go_on(self, which: int, step: int) -> None:
        """A checkpoint is stored; one that is further than all others sets the count to 0."""
        token = self.token(which)
        if self.is_over(token):
            return
        before = self.job(token.job_id)
        furthest = self.furthest.get(token.job_id, 0)
        self.report(which, CheckpointEvent(path="checkpoint", epoch=1, step=step))
        self.furthest[token.job_id] = max(furthest, step)
        assert self.job(token.job_id).losses == (0 if step > furthest else before.losses)

    @invariant()
    def every_life_is_legal(self) -> None:
        with self.database.read() as transaction:
            for job_id in self.jobs:
                self.check(transaction, store.get(transaction, job_id))
            self.check_usage(transaction)

    def check_usage(self, transaction: Transaction) -> None:
        """The counted device time is that of the attempts which have ended, of deleted jobs too."""
        expected: dict[str, list[int]] = {}
        of_jobs = [self.used_by(transaction, job_id) for job_id in self.jobs]
        for outcome, device_ms in chain(self.used_by_deleted, *of_jobs):
            total = expected.setdefault(outcome, [0, 0])
            total[0] += device_ms
            total[1] += 1
        counted = {
            each.outcome: [each.device_ms, each.attempts]
            for each in usage.read(transaction)
            if each.attempts
        }
        assert counted == expected

    def used_by(self, transaction: Transaction, job_id: str) -> list[tuple[str, int]]:
        """Outcome and device time in milliseconds of each attempt that has ended."""
        return [
            (usage.outcome_of(Reason(each.reason)), each.finished_at - each.started_at)
            for each in leases.of_job(transaction, store.get(transaction, job_id).pk)
            if each.finished_at is not None
        ]

    def check(self, transaction: Transaction, job: JobRow) -> None:
        page = events.page(transaction, job.pk, job.last_seq, 0, 10_000)
        stored = [json.loads(event.text) for event in page.events]
        assert [event["seq"] for event in stored] == list(range(1, job.last_seq + 1))
        states = [JobState(event["state"]) for event in stored if event["kind"] == "state"]
        assert states[0] is JobState.QUEUED
        assert states[-1] is job.state
        for before, after in zip(states, states[1:], strict=False):
            assert after in TRANSITIONS[before]

        assert job.queued_at == self.placed[job.id], "its place in the queue was lost"
        assert job.version >= self.versions.get(job.id, 1)
        self.versions[job.id] = job.version
        if job.id in self.over:
            assert job == self.over[job.id], "a job that was over has changed"
        if job.state in TERMINAL:
            self.over[job.id] = job
            assert job.reason is not None
            assert job.finished_at is not None

        tried = leases.of_job(transaction, job.pk)
        assert [attempt.number for attempt in tried] == list(range(1, len(tried) + 1))
        assert job.attempt == len(tried)
        assert 0 <= job.losses < MAX_ATTEMPTS
        open_ones = [attempt for attempt in tried if attempt.finished_at is None]
        stopping = (JobState.CANCELLING, JobState.PAUSING)
        is_held = job.state in ACTIVE or job.state in stopping
        assert len(open_ones) == int(is_held)
        if job.state is JobState.SUCCEEDED:
            assert artifacts.is_complete(transaction, tried[-1])
        if job.state is JobState.QUEUED:
            promised = select(tables.outbox.c.pk).where(tables.outbox.c.job_pk == job.pk)
            assert transaction.connection.execute(promised).all(), "nobody would be woken"

    def job(self, job_id: str) -> JobRow:
        with self.database.read() as transaction:
            return store.get(transaction, job_id)

    def row(self, token: Token) -> leases.AttemptRow:
        with self.database.read() as transaction:
            return leases.check_fence(transaction, token.attempt_id, token.fence)

    def is_over(self, token: Token) -> bool:
        return self.row(token).finished_at is not None

    def may_continue(self, token: Token) -> bool:
        """Whether its attempt was taken for lost, and nobody else has begun."""
        attempt, job = self.row(token), self.job(token.job_id)
        is_next = job.state in (JobState.RETRY_WAIT, JobState.QUEUED)
        return attempt.reason == "worker_lost" and is_next and job.attempt == attempt.number

    def token(self, which: int) -> Token:
        return self.tokens[which % len(self.tokens)]

    @contextmanager
    def speaking(
        self, token: Token, may_repeat: bool = False, may_return: bool = True
    ) -> Iterator[Transaction]:
        """A transaction of an agent: refused as stale if, and only if, its attempt has ended.

        One that was only taken for lost goes on, if `may_return`.
        """
        is_over = self.is_over(token) and not (may_return and self.may_continue(token))
        try:
            with self.database.write() as transaction:
                yield transaction
        except StaleToken:
            assert is_over
        except Conflict:
            assert not is_over
        else:
            assert may_repeat or not is_over
