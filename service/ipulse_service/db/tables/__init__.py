"""The tables. Times are milliseconds since 1970 UTC by the steady clock; JSON is text."""

from __future__ import annotations

from ipulse_service.db.tables.access import tokens, web_sessions
from ipulse_service.db.tables.agent import agents, join_tokens
from ipulse_service.db.tables.attempt import artifacts, attempts, events
from ipulse_service.db.tables.base import metadata
from ipulse_service.db.tables.database import clock_eras, trials
from ipulse_service.db.tables.dataset import dataset_samples, dataset_versions, datasets, uploads
from ipulse_service.db.tables.job import (
    idempotency_keys,
    job_dependencies,
    jobs,
    outbox,
    submitted_specs,
)
from ipulse_service.db.tables.op import job_ops, ops
from ipulse_service.db.tables.search_index import index_names, job_metrics, job_settings
from ipulse_service.db.tables.sweep import sweep_jobs, sweep_rungs, sweep_trials, sweeps

__all__ = [
    "agents",
    "artifacts",
    "attempts",
    "clock_eras",
    "dataset_samples",
    "dataset_versions",
    "datasets",
    "events",
    "idempotency_keys",
    "index_names",
    "job_dependencies",
    "job_metrics",
    "job_ops",
    "job_settings",
    "jobs",
    "join_tokens",
    "metadata",
    "ops",
    "outbox",
    "submitted_specs",
    "sweep_jobs",
    "sweep_rungs",
    "sweep_trials",
    "sweeps",
    "tokens",
    "trials",
    "uploads",
    "web_sessions",
]
