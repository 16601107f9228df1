"""Completion of words that a user types in a shell."""

from __future__ import annotations

import typer

from .setting_names import offered_settings, setting_names


def complete_job(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the ids of the newest jobs that begin so, and their states; none if it fails."""
    from .service_offers import offered_jobs

    return offered_jobs(context.params, incomplete)


def complete_setting(incomplete: str) -> list[str]:
    """Return the fields of a spec that begin so, with an equals sign."""
    return offered_settings(setting_names(), incomplete)
