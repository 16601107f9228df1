"""Context of the service's log lines: the current request and the objects that it is about."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from ipulse import json_log

# Threads that work for a request inherit both.
request_id: ContextVar[str] = ContextVar("request_id", default="")
bound: ContextVar[dict[str, str] | None] = ContextVar("bound", default=None)


def bind(**more: str) -> None:
    """Adds fields, such as the job's id, to all later log lines of the current request."""
    fields = bound.get()
    if fields is not None:
        fields.update(more)


class RequestLines(json_log.JSONLines):
    """JSON log lines with the fields of the current request."""

    def context(self) -> dict[str, Any]:
        """Returns the fields of the current request."""
        request = {"request_id": request_id.get()} if request_id.get() else {}
        return {**request, **(bound.get() or {})}


def configure() -> None:
    """Sends the log of this process to standard error."""
    json_log.configure(RequestLines(), ("alembic", "kombu", "celery", "uvicorn.error"))
