"""Completion of words that a user types in a shell."""

from __future__ import annotations

import os
from itertools import islice

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]

from ipulse.client import Client
from ipulse_core.errors import IPUlseError
from ipulse_core.ids import JOB, is_id

from . import VARIABLE
from .terminal import short_id

PROGRAM = "ipulse"
OFFERED = 20  # jobs
TIMEOUT = 2.0  # seconds that a shell may wait for the service


def prepare_completion() -> None:
    """Make Typer know the shells, if one of them asks for completions."""
    if VARIABLE in os.environ:
        completion_init()


def complete_job(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the ids of the newest jobs that begin so, and their states; none if it fails."""
    options = {name: context.params.get(name) for name in ("token_file", "home", "ca")}
    try:
        with Client(context.params.get("url"), timeout=TIMEOUT, retries=0, **options) as client:
            jobs = list(islice(client.list(page_size=OFFERED), OFFERED))
    except (IPUlseError, OSError):
        return []
    # Text that a shell evaluates must not contain other text of a service, such as names of jobs.
    ids = [(job.id, job.state.value) for job in jobs if is_id(JOB, job.id)]
    if not incomplete.startswith("job_"):
        ids = [(short_id(job_id), state) for job_id, state in ids]
        ids = [*([("latest", ids[0][1])] if ids else []), *ids]
    return [(job_id, state) for job_id, state in ids if job_id.startswith(incomplete)]
