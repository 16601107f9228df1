"""The values of jobs by which trials are compared."""

from __future__ import annotations

import json
import math

from sqlalchemy import select

from ipulse.sweeps import SweepObjective
from ipulse_core.states import JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import events
from ipulse_service.jobs.job import JobRow


def epoch_values(transaction: Transaction, job_pk: int, metric: str) -> dict[int, float]:
    """Returns the values of a metric after each epoch of a job; a repeated epoch counts once."""
    query = (
        select(events.c.body)
        .where(
            events.c.job_pk == job_pk,
            events.c.kind == "metric",
            events.c.body.contains('"scope":"epoch"', autoescape=True),
        )
        .order_by(events.c.seq)
    )
    values: dict[int, float] = {}
    for (body,) in transaction.connection.execute(query):
        event = json.loads(body)
        if event.get("scope") == "epoch" and metric in event["values"]:
            values[event["epoch"]] = event["values"][metric]
    return values


def value_of(
    transaction: Transaction, job: JobRow, objective: SweepObjective
) -> tuple[float | None, str]:
    """Returns the value of an ended job, or None and the reason why it has none."""
    if job.state is not JobState.SUCCEEDED:
        reason = job.reason.value if job.reason else job.state.value
        return None, f"{reason}: {job.message}" if job.message else reason
    summary = json.loads(job.summary or "{}")
    if objective.at == "last" and objective.metric in summary:
        return _finite(float(summary[objective.metric]), objective)
    epochs = epoch_values(transaction, job.pk, objective.metric)
    if not epochs:
        return None, f"the job never reported the metric {objective.metric}"
    if objective.at == "last":
        return _finite(epochs[max(epochs)], objective)
    if objective.at == "best":
        finite = [value for value in epochs.values() if math.isfinite(value)]
        return _finite(objective.best(finite or [math.nan]), objective)
    if objective.epoch not in epochs:
        return None, f"the job has no epoch {objective.epoch}"
    return _finite(epochs[objective.epoch], objective)


def _finite(value: float, objective: SweepObjective) -> tuple[float | None, str]:
    if math.isfinite(value):
        return value, ""
    return None, f"{objective.metric} is not finite"
