"""Writes refused requests to the audit log, at most one a second of each caller."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import replace

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from ipulse_core.errors import NotPermitted, Unavailable
from ipulse_service.db.audit import AuditEntry
from ipulse_service.db.engine import Database
from ipulse_service.http import log_context
from ipulse_service.http.caller import Caller

SECONDS = 1.0  # between two entries of one caller
_MAX_CALLERS = 10_000


class Denials:
    """The refused requests of an application."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._noted: dict[str, float] = {}  # when, on the monotonic clock, by caller

    async def note(self, request: Request, error: NotPermitted) -> None:
        """Stores that a request of a known caller was refused."""
        caller: Caller | None = getattr(request.state, "caller", None)
        if caller is not None and self._is_due(caller.name):
            path = f"{request.method} {request.scope['path']}"
            await run_in_threadpool(self._write, caller, path, error)

    def _is_due(self, name: str) -> bool:
        now = time.monotonic()
        with self._lock:
            if self._noted.get(name, -SECONDS) > now - SECONDS:
                return False
            if len(self._noted) >= _MAX_CALLERS:
                self._noted.clear()
            self._noted[name] = now
        return True

    def _write(self, caller: Caller, path: str, error: NotPermitted) -> None:
        access = replace(
            caller.access,
            name=caller.name[:64],
            token_id=caller.token_id,
            request_id=log_context.request_id.get(),
        )
        entry = AuditEntry("request.denied", path, None, error.message, "denied")
        with suppress(Unavailable), self._database.acting_for(access).write() as transaction:
            transaction.audited.append(entry)
