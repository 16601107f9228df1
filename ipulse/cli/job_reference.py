"""Finds the job that a user means."""

from __future__ import annotations

from ipulse.client import Client


def find_job(client: Client, reference: str) -> str:
    """Return the full id of the job that a reference means; see Client.find_id."""
    return client.find_id(reference)
