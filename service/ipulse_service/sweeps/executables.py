"""Trials of a sweep that share an executable wait until the first of them has compiled it."""

from __future__ import annotations

import hashlib
from typing import Any

from sqlalchemy import select

from ipulse_core import strict_json
from ipulse_core.states import JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs, sweep_jobs, sweep_trials
from ipulse_service.jobs.dependencies import Dependency
from ipulse_service.sweeps.rows import SweepRow

# A job in one of these states has compiled its program.
_COMPILED = (JobState.RUNNING.value, JobState.REPORTING.value, JobState.SUCCEEDED.value)
_ENDED_WITHOUT = (JobState.FAILED.value, JobState.CANCELLED.value)
# Fields that decide when and where a job runs.
_PLACEMENT = ("connection_type", "acquire_poll_seconds", "acquire_timeout_seconds", "where")


def executable_key(value: dict[str, Any]) -> str | None:
    """Returns a digest of all of a resolved spec that decides its program, None without one.

    Specs with equal keys compile the same program. Some with different keys do so, too: their jobs
    are not held. On the emulator the op contains the network alone, and TensorFlow trains it; on
    an IPU the worker keeps the executables of each training apart.
    """
    device = value["device"]
    if device["kind"] == "cpu" or device["connection_type"] == "NEVER":  # nothing to share
        return None
    if device["kind"] == "ipu" and _has_ops(value):
        return None  # such trainings have caches of their own
    training = value["training"]
    parts = {
        "data": value["data"],
        "network": {name: part for name, part in value["network"].items() if name != "initial"},
        "training": training if device["kind"] == "ipu" else training["batch_size"],
        "device": {name: each for name, each in device.items() if name not in _PLACEMENT},
    }
    return hashlib.sha256(strict_json.dumps(parts).encode()).hexdigest()


def shared(
    transaction: Transaction, sweep: SweepRow, value: dict[str, Any]
) -> tuple[str | None, list[Dependency]]:
    """Returns the key of a new job of a locked sweep, and the job that compiles for it, if any."""
    key = executable_key(value)
    if key is None:
        return None, []
    query = (
        select(jobs.c.id, jobs.c.state)
        .join(sweep_jobs, sweep_jobs.c.job_pk == jobs.c.pk)
        .join(sweep_trials, sweep_trials.c.pk == sweep_jobs.c.trial_pk)
        .where(sweep_trials.c.sweep_pk == sweep.pk, sweep_jobs.c.executable == key)
        .order_by(jobs.c.pk)
    )
    first = None
    for job_id, state in transaction.connection.execute(query):
        if state in _COMPILED:
            return key, []
        if first is None and state not in _ENDED_WITHOUT:
            first = job_id
    return key, [] if first is None else [Dependency(first, "compiled")]


def _has_ops(value: dict[str, Any]) -> bool:
    return any(layer.get("kind") == "op" for layer in value["network"]["layers"])
