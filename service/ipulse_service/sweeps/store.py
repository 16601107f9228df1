"""Sweeps in the database: add, get, lock and update."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete, exists, insert, select, update

from ipulse_core import ids
from ipulse_core.errors import Conflict, NotFound
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import sweep_jobs, sweep_rungs, sweep_trials, sweeps
from ipulse_service.jobs.idempotency import FINGERPRINT_RULE
from ipulse_service.sweeps.rows import (
    SWEEP_COLUMNS,
    SweepRow,
    SweepState,
    TrialState,
)

TOPIC = "sweeps"  # notified when a sweep may begin a trial


class NoSuchSweep(NotFound):
    """There is no such sweep; `ipulse sweep list` shows all."""


class SweepNotOver(Conflict):
    """The sweep has not ended; stop it before you delete it."""

    code = "not_over"


def add(
    transaction: Transaction,
    config: str,
    name: str,
    fingerprint: str,
    trials: int,
    parallel: int,
    caller: str,
    key: str | None,
) -> SweepRow:
    """Adds a running sweep."""
    values = {
        "id": ids.new_id(ids.SWEEP),
        "name": name,
        "config": config,
        "fingerprint": fingerprint,
        "fingerprint_rule": FINGERPRINT_RULE,
        "caller": caller,
        "key": key,
        "state": SweepState.RUNNING.value,
        "trials": trials,
        "parallel": parallel,
        "created_at": transaction.now,
        "updated_at": transaction.now,
        **transaction.access.ownership(),
    }
    added = insert(sweeps).values(values).returning(*SWEEP_COLUMNS)
    transaction.topics.add(TOPIC)
    sweep = SweepRow.of(transaction.connection.execute(added).one())
    transaction.audit("sweep.create", sweep.id, sweep.project)
    return sweep


def find_key(transaction: Transaction, caller: str, key: str) -> SweepRow | None:
    """Returns the sweep that a caller created with an Idempotency-Key."""
    query = select(*SWEEP_COLUMNS).where(sweeps.c.caller == caller, sweeps.c.key == key)
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else SweepRow.of(row)


def get(transaction: Transaction, sweep_id: str) -> SweepRow:
    """Returns the sweep; a writing transaction locks it until it ends. Raises NoSuchSweep."""
    row = None
    if ids.is_id(ids.SWEEP, sweep_id):
        query = select(*SWEEP_COLUMNS).where(sweeps.c.id == sweep_id)
        if transaction.is_writing:
            query = query.with_for_update(key_share=True)
        row = transaction.connection.execute(query).one_or_none()
    if row is None or not transaction.access.sees(row.project):
        raise NoSuchSweep()
    return SweepRow.of(row)


def get_to_change(transaction: Transaction, sweep_id: str) -> SweepRow:
    """Returns the sweep like `get`. Raises NotPermitted, too, if the caller may not change it."""
    sweep = get(transaction, sweep_id)
    transaction.access.check_change(sweep.project, sweep.owner)
    return sweep


def peek(transaction: Transaction, pk: int) -> SweepRow | None:
    """Returns the sweep without a lock, so that it may change at once."""
    query = select(*SWEEP_COLUMNS).where(sweeps.c.pk == pk)
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else SweepRow.of(row)


def lock_or_skip(transaction: Transaction, pk: int) -> SweepRow | None:
    """Returns the sweep, locked, or None while another transaction has locked it."""
    query = select(*SWEEP_COLUMNS).where(sweeps.c.pk == pk)
    query = query.with_for_update(skip_locked=True, key_share=True)
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else SweepRow.of(row)


def open_pks(transaction: Transaction) -> list[int]:
    """Returns the keys of all sweeps that have not ended, or of which a trial runs again."""
    runs_again = exists().where(
        sweep_trials.c.sweep_pk == sweeps.c.pk, sweep_trials.c.state == TrialState.RUNNING.value
    )
    query = select(sweeps.c.pk).where((sweeps.c.state != SweepState.ENDED.value) | runs_again)
    return list(transaction.connection.execute(query.order_by(sweeps.c.pk)).scalars())


def remove(transaction: Transaction, sweep: SweepRow) -> None:
    """Deletes a locked sweep with its trials; their jobs stay. Raises SweepNotOver."""
    if sweep.state is not SweepState.ENDED:
        raise SweepNotOver()
    transaction.audit("sweep.delete", sweep.id, sweep.project)
    of_sweep = select(sweep_trials.c.pk).where(sweep_trials.c.sweep_pk == sweep.pk)
    for table in (sweep_jobs, sweep_rungs):
        transaction.connection.execute(delete(table).where(table.c.trial_pk.in_(of_sweep)))
    for this in (sweep_trials.c.sweep_pk, sweeps.c.pk):
        transaction.connection.execute(delete(this.table).where(this == sweep.pk))
    transaction.topics.add(TOPIC)


def page(transaction: Transaction, before: int | None, limit: int) -> list[SweepRow]:
    """Returns sweeps, newest first, older than the key `before`."""
    query = select(*SWEEP_COLUMNS).where(transaction.access.where(sweeps))
    query = query.order_by(sweeps.c.pk.desc()).limit(limit)
    if before is not None:
        query = query.where(sweeps.c.pk < before)
    return [SweepRow.of(row) for row in transaction.connection.execute(query)]


def continued(transaction: Transaction) -> dict[str, object]:
    """Returns the columns of a sweep that has ended and continues."""
    return {
        "state": SweepState.RUNNING.value,
        "reason": None,
        "message": "",
        "finished_at": None,
        "continued_at": transaction.now,
    }


def reopened(transaction: Transaction, sweep: SweepRow) -> dict[str, object]:
    """Returns the columns of a sweep of which some trials run again.

    One that ended before all its trials had begun does not begin the others.
    """
    if sweep.state is not SweepState.ENDED:
        return {}
    if sweep.next_trial > sweep.trials:
        return continued(transaction)
    return {"state": SweepState.STOPPING.value, "finished_at": None}


def change(transaction: Transaction, sweep: SweepRow, **columns: Any) -> SweepRow:
    """Updates columns of a locked sweep and increments its version."""
    values = {**columns, "version": sweep.version + 1, "updated_at": transaction.now}
    changed = (
        update(sweeps)
        .where(sweeps.c.pk == sweep.pk, sweeps.c.version == sweep.version)
        .values(values)
        .returning(*SWEEP_COLUMNS)
    )
    row = transaction.connection.execute(changed).one_or_none()
    if row is None:
        raise Conflict("the sweep changed at the same moment; try again")
    transaction.audit("sweep.change", sweep.id, sweep.project, ", ".join(sorted(columns)))
    transaction.topics.add(TOPIC)
    return SweepRow.of(row)
