"""Early stopping: a decision after an epoch about a trial.

The decision is made in the transaction that stores the epoch's metrics. It only concerns the first
seed of a trial: the others begin when the first has ended without being stopped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress

from sqlalchemy import insert, select

from ipulse_core.errors import Conflict
from ipulse_core.events import MetricEvent
from ipulse_core.states import Reason
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import sweep_jobs, sweep_rungs, sweep_trials
from ipulse_service.jobs import finishing
from ipulse_service.jobs import store as job_store
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.settings import Settings
from ipulse_service.sweeps import results, store


def after_events(
    transaction: Transaction, attempt: AttemptRow, reported: Iterable[object], settings: Settings
) -> None:
    """Stops a job early if its sweep says so after one of these events, which are stored."""
    epochs = [
        event for event in reported if isinstance(event, MetricEvent) and event.scope == "epoch"
    ]
    if epochs:
        _after_epochs(
            transaction, job_store.get_by_pk(transaction, attempt.job_pk), epochs, settings
        )


def _after_epochs(
    transaction: Transaction, job: JobRow, metrics: Iterable[MetricEvent], settings: Settings
) -> None:
    query = (
        select(sweep_trials.c.pk, sweep_trials.c.sweep_pk)
        .join(sweep_jobs, sweep_jobs.c.trial_pk == sweep_trials.c.pk)
        .where(sweep_jobs.c.job_pk == job.pk, sweep_jobs.c.state.is_(None))
    )
    row = transaction.connection.execute(query).first()
    sweep = row and store.peek(transaction, row.sweep_pk)
    if row is None or sweep is None:
        return
    config = sweep.definition
    stopping, objective = config.stopping, config.objective
    if stopping is None or not _is_alone(transaction, row.pk):
        return
    transaction.lock(f"sweep/rungs/{sweep.pk}")  # decisions of one sweep come one by one
    is_weak = False  # at the newest rung: an agent may report several epochs at once
    for metric in metrics:
        value = metric.values.get(objective.metric)
        if value is None or not stopping.decides_after(metric.epoch, metric.epochs):
            continue
        if objective.at == "best":
            until = results.epoch_values(transaction, job.pk, objective.metric)
            value = objective.best([v for epoch, v in until.items() if epoch <= metric.epoch])
        if not math.isfinite(value) or _is_decided(transaction, row.pk, metric.epoch):
            continue
        others = _values(transaction, sweep.pk, metric.epoch)
        goes_on = stopping.goes_on(value, others, objective)
        rung = {
            "trial_pk": row.pk,
            "epoch": metric.epoch,
            "sweep_pk": sweep.pk,
            "value": value,
            "goes_on": int(goes_on),
            "at": transaction.now,
        }
        transaction.connection.execute(insert(sweep_rungs).values(rung))
        is_weak = not goes_on and metric.epoch < metric.epochs
    if is_weak:
        # It may stop anyway, or its agent may be too old to finish early.
        with suppress(Conflict):
            finishing.finish(transaction, job, settings, Reason.PRUNED)


def _is_alone(transaction: Transaction, trial_pk: int) -> bool:
    query = select(sweep_jobs.c.seed).where(sweep_jobs.c.trial_pk == trial_pk).limit(2)
    return len(transaction.connection.execute(query).all()) == 1


def _is_decided(transaction: Transaction, trial_pk: int, epoch: int) -> bool:
    """Returns whether an attempt that was lost came to this epoch, too."""
    query = select(sweep_rungs.c.epoch).where(
        sweep_rungs.c.trial_pk == trial_pk, sweep_rungs.c.epoch == epoch
    )
    return transaction.connection.execute(query).first() is not None


def _values(transaction: Transaction, sweep_pk: int, epoch: int) -> list[float]:
    query = select(sweep_rungs.c.value).where(
        sweep_rungs.c.sweep_pk == sweep_pk, sweep_rungs.c.epoch == epoch
    )
    return list(transaction.connection.execute(query).scalars())
