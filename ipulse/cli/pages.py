"""Addresses of the web page."""

from __future__ import annotations

from ipulse.client import Client
from ipulse.client.pages import job_page


def job_address(client: Client, job_id: str) -> str:
    """Return the address of a job's page."""
    return job_page(client.url, job_id)
