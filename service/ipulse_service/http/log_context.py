"""What the service's log lines know: the request being answered, and what it is about."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from ipulse import json_log

# Of the request being answered; a thread that works for it sees them too.
request_id: ContextVar[str] = ContextVar("request_id", default="")
about: ContextVar[dict[str, str] | None] = ContextVar("about", default=None)


def bind(**facts: str) -> None:
    """Adds facts, such as the job's id, to every later line about the present request."""
    known = about.get()
    if known is not None:
        known.update(facts)


class RequestLines(json_log.JSONLines):
    """Lines that hold the request they were written for."""

    def context(self) -> dict[str, Any]:
        request = {"request_id": request_id.get()} if request_id.get() else {}
        return {**request, **(about.get() or {})}


def configure() -> None:
    """Sends every logger of this process to standard error."""
    json_log.configure(RequestLines(), ("alembic", "kombu", "celery", "uvicorn.error"))
