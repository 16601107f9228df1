"""Addresses of the web page."""

from __future__ import annotations


def job_page(url: str, job_id: str) -> str:
    """Return the address of a job's page on the service at `url`."""
    return f"{url.rstrip('/')}/jobs/{job_id}"
