"""Completion of words that a user types in a shell."""

from __future__ import annotations

import os

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]

from . import VARIABLE
from .service_offers import offered_jobs

PROGRAM = "ipulse"


def prepare_completion() -> None:
    """Make Typer know the shells, if one of them asks for completions."""
    if VARIABLE in os.environ:
        completion_init()


def complete_job(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the ids of the newest jobs that begin so, and their states; none if it fails."""
    return offered_jobs(context.params, incomplete)
