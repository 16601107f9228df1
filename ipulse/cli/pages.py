"""Addresses of the web page."""

from __future__ import annotations

from ipulse.client import Client


def job_address(client: Client, job_id: str) -> str:
    """Return the address of a job's page."""
    return f"{client.url.rstrip('/')}/#/jobs/{job_id}"
