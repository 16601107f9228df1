"""Addresses of the web page."""

from __future__ import annotations


def job_page(url: str, job_id: str) -> str:
    """Return the address of a job's page on the service at `url`."""
    return f"{url.rstrip('/')}/jobs/{job_id}"


def sweep_page(url: str, sweep_id: str) -> str:
    """Return the address of a sweep's page on the service at `url`."""
    return f"{url.rstrip('/')}/sweeps/{sweep_id}"
