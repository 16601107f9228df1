"""Addresses of the web page."""

from __future__ import annotations

from urllib.parse import quote

from ipulse.client import Client
from ipulse.client.pages import job_page, sweep_page


def job_address(client: Client, job_id: str) -> str:
    """Return the address of a job's page."""
    return job_page(client.url, job_id)


def sign_in_address(client: Client, path: str = "") -> str:
    """Return an address that signs a browser in, once and within ten minutes, and goes to a path.

    The code is behind the #, which browsers do not send, so that no log of a server has it.
    """
    then = f"?to={quote(path, safe='/')}" if path else ""
    return f"{client.url.rstrip('/')}/login{then}#code={client.create_sign_in_code()}"


def sweep_address(client: Client, sweep_id: str) -> str:
    """Return the address of a sweep's page."""
    return sweep_page(client.url, sweep_id)
