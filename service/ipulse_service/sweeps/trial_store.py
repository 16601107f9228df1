"""Trials and their jobs in the database: add, get, update and count."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import func, insert, select, update

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs, sweep_jobs, sweep_trials
from ipulse_service.jobs.job import JobRow
from ipulse_service.sweeps.rows import (
    JOB_COLUMNS,
    TRIAL_COLUMNS,
    Proposal,
    SweepRow,
    TrialJob,
    TrialRow,
    TrialState,
)


def add_trial(
    transaction: Transaction,
    sweep: SweepRow,
    proposal: Proposal,
    state: TrialState = TrialState.RUNNING,
    message: str = "",
) -> TrialRow:
    """Adds the next trial of a locked sweep; the caller increments `next_trial`."""
    values = {
        "sweep_pk": sweep.pk,
        "number": sweep.next_trial,
        "parameters": json.dumps(proposal.parameters, allow_nan=False),
        "based_on": None if proposal.based_on is None else json.dumps(proposal.based_on),
        "state": state.value,
        "message": message,
        "created_at": transaction.now,
        "finished_at": None if state is TrialState.RUNNING else transaction.now,
    }
    added = insert(sweep_trials).values(values).returning(*TRIAL_COLUMNS)
    return TrialRow.of(transaction.connection.execute(added).one())


def add_job(
    transaction: Transaction, trial: TrialRow, seed: int, job: JobRow, executable: str | None
) -> None:
    """Adds a job of a trial, with the key of the program that it compiles."""
    values = {
        "trial_pk": trial.pk,
        "seed": seed,
        "job_pk": job.pk,
        "job_id": job.id,
        "executable": executable,
    }
    transaction.connection.execute(insert(sweep_jobs).values(values))


def run_again(transaction: Transaction, job: TrialJob) -> None:
    """Forgets the result of a job that was retried."""
    change_job(transaction, job, state=None, message="", value=None, repeats=False)


def replace_job(
    transaction: Transaction, former: TrialJob, job: JobRow, executable: str | None
) -> None:
    """Puts another job into the place of one, with its seed."""
    values = {"job_pk": job.pk, "job_id": job.id, "executable": executable, "run_ms": 0}
    values |= {"replaced_ms": former.replaced_ms + former.run_ms}
    change_job(transaction, former, state=None, message="", value=None, repeats=False, **values)


def repeat_none(transaction: Transaction, sweep_pk: int, trial_pk: int | None = None) -> None:
    """Leaves the results of a sweep's jobs as they are, or those of one of its trials."""
    of_sweep = select(sweep_trials.c.pk).where(sweep_trials.c.sweep_pk == sweep_pk)
    if trial_pk is not None:
        of_sweep = of_sweep.where(sweep_trials.c.pk == trial_pk)
    this = update(sweep_jobs).where(
        sweep_jobs.c.trial_pk.in_(of_sweep), sweep_jobs.c.repeats.is_(True)
    )
    transaction.connection.execute(this.values(repeats=False))


def reopen(transaction: Transaction, sweep: SweepRow) -> None:
    """Makes the succeeded trials of a locked sweep run again, for jobs with other seeds."""
    this = (
        sweep_trials.c.sweep_pk == sweep.pk,
        sweep_trials.c.state == TrialState.SUCCEEDED.value,
    )
    values = {"state": TrialState.RUNNING.value, "finished_at": None}
    transaction.connection.execute(update(sweep_trials).where(*this).values(values))


def change_trial(transaction: Transaction, trial: TrialRow, **columns: Any) -> None:
    """Updates columns of a trial of a locked sweep."""
    statement = update(sweep_trials).where(sweep_trials.c.pk == trial.pk).values(columns)
    transaction.connection.execute(statement)


def change_job(transaction: Transaction, job: TrialJob, **columns: Any) -> None:
    """Updates columns of a job of a trial of a locked sweep."""
    statement = update(sweep_jobs).where(
        sweep_jobs.c.trial_pk == job.trial_pk, sweep_jobs.c.seed == job.seed
    )
    transaction.connection.execute(statement.values(columns))


def trials(
    transaction: Transaction, sweep: SweepRow, states: Collection[TrialState] = ()
) -> list[TrialRow]:
    """Returns the trials of a sweep that have begun, in order; of some states if they are given."""
    query = select(*TRIAL_COLUMNS).where(sweep_trials.c.sweep_pk == sweep.pk)
    if states:
        query = query.where(sweep_trials.c.state.in_([state.value for state in states]))
    rows = transaction.connection.execute(query.order_by(sweep_trials.c.number))
    return [TrialRow.of(row) for row in rows]


def trials_after(
    transaction: Transaction, sweep: SweepRow, after: int, limit: int
) -> list[TrialRow]:
    """Returns at most `limit` trials with numbers above `after`, in order."""
    query = (
        select(*TRIAL_COLUMNS)
        .where(sweep_trials.c.sweep_pk == sweep.pk, sweep_trials.c.number > after)
        .order_by(sweep_trials.c.number)
        .limit(limit)
    )
    return [TrialRow.of(row) for row in transaction.connection.execute(query)]


def jobs_of(transaction: Transaction, trial_rows: Iterable[TrialRow]) -> dict[int, list[TrialJob]]:
    """Returns the jobs of trials by the trial's key, in the order of their seeds' definition."""
    found: dict[int, list[TrialJob]] = {trial.pk: [] for trial in trial_rows}
    query = (
        select(*JOB_COLUMNS, jobs.c.state.label("now"))
        .outerjoin(jobs, jobs.c.pk == sweep_jobs.c.job_pk)
        .order_by(sweep_jobs.c.trial_pk, sweep_jobs.c.seed)
    )
    keys = list(found)
    for first in range(0, len(keys), 500):
        part = query.where(sweep_jobs.c.trial_pk.in_(keys[first : first + 500]))
        for row in transaction.connection.execute(part):
            found[row.trial_pk].append(TrialJob._make(row))
    return found


def trial_counts(transaction: Transaction, pks: Collection[int]) -> dict[int, dict[str, int]]:
    """Returns how many trials of sweeps are in each state."""
    counts: dict[int, dict[str, int]] = {pk: {} for pk in pks}
    query = (
        select(sweep_trials.c.sweep_pk, sweep_trials.c.state, func.count())
        .where(sweep_trials.c.sweep_pk.in_(list(pks)))
        .group_by(sweep_trials.c.sweep_pk, sweep_trials.c.state)
    )
    for pk, state, count in transaction.connection.execute(query):
        counts[pk][state] = count
    return counts


def job_counts(transaction: Transaction, sweep: SweepRow) -> dict[str, int]:
    """Returns how many jobs of a sweep are in each state."""
    state = func.coalesce(sweep_jobs.c.state, jobs.c.state)
    query = (
        select(state, func.count())
        .select_from(sweep_jobs)
        .join(sweep_trials, sweep_trials.c.pk == sweep_jobs.c.trial_pk)
        .outerjoin(jobs, jobs.c.pk == sweep_jobs.c.job_pk)
        .where(sweep_trials.c.sweep_pk == sweep.pk)
        .group_by(state)
    )
    return dict(map(tuple, transaction.connection.execute(query)))


def run_ms(transaction: Transaction, sweep: SweepRow) -> int:
    """Returns the time that agents spent on the ended jobs of a sweep."""
    query = (
        select(func.coalesce(func.sum(sweep_jobs.c.run_ms + sweep_jobs.c.replaced_ms), 0))
        .join(sweep_trials, sweep_trials.c.pk == sweep_jobs.c.trial_pk)
        .where(sweep_trials.c.sweep_pk == sweep.pk)
    )
    return int(transaction.connection.execute(query).scalar_one())


def last_states(transaction: Transaction, sweep: SweepRow, count: int) -> list[str]:
    """Returns the states of the trials that ended last, the latest first.

    Trials before the last continuation of the sweep do not count.
    """
    query = (
        select(sweep_trials.c.state)
        .where(sweep_trials.c.sweep_pk == sweep.pk, sweep_trials.c.finished_at >= sweep.began_at)
        .order_by(sweep_trials.c.finished_at.desc(), sweep_trials.c.number.desc())
        .limit(count)
    )
    return list(transaction.connection.execute(query).scalars())


def best(transaction: Transaction, sweep: SweepRow, goal: str) -> TrialRow | None:
    """Returns the succeeded trial with the best value; of equal ones the first."""
    order = sweep_trials.c.value.desc() if goal == "maximize" else sweep_trials.c.value.asc()
    query = (
        select(*TRIAL_COLUMNS)
        .where(
            sweep_trials.c.sweep_pk == sweep.pk,
            sweep_trials.c.state == TrialState.SUCCEEDED.value,
            sweep_trials.c.value.is_not(None),
        )
        .order_by(order, sweep_trials.c.number)
        .limit(1)
    )
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else TrialRow.of(row)
