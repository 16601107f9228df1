"""The start of the service: it waits for its database and store, and answers probes meanwhile."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from ipulse.stack.program_log import CANNOT_START
from ipulse_core.errors import InvalidInput, Unavailable
from ipulse_service.db.failures import DatabaseFailed
from ipulse_service.files.partial_upload import StoreTrouble
from ipulse_service.http import problems

HELD_SECONDS = 3.0  # the service begins to listen once it is ready, or after this time
RETRY_SECONDS = 1.0  # between two tries to reach the database
LOG_SECONDS = 30.0  # between two lines that say that it still waits

_PROBES = frozenset({"/healthz", "/readyz"})
_log = logging.getLogger(__name__)


class Starting(Unavailable):
    """The service is starting; try again in a few seconds."""

    code = "starting"


class Startup:
    """Opens the database and starts what works in the background, as soon as that is possible."""

    def __init__(self, open_all: Callable[[], None], start_threads: Callable[[], None]) -> None:
        """`open_all` is tried until the database answers; it runs in a thread."""
        self._open_all = open_all
        self._start_threads = start_threads
        self._task: asyncio.Task[None] | None = None
        self.on_failure: Callable[[], None] = lambda: None
        self.is_done = False
        self.reason = "the service is starting"  # why it is not ready
        self.failure: str | None = None  # why it never will be

    async def begin(self) -> None:
        """Begins the start, and returns once it is done or when it takes long."""
        self._task = asyncio.create_task(self._run())
        await asyncio.wait({self._task}, timeout=HELD_SECONDS)

    async def end(self) -> None:
        """Gives up a start that is not done; returns once it has ended."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        began = time.monotonic()
        next_line = began
        while True:
            try:
                await run_in_threadpool(self._open_all)
            except (DatabaseFailed, StoreTrouble) as error:
                what, problem = "artifact store", error.message
                if isinstance(error.__cause__, OSError):  # of this machine's disk
                    self.fail(one_line(error.__cause__))
                    return
                if isinstance(error, DatabaseFailed):
                    what, problem = "database", error.problem
                    if not error.is_passing:
                        self.fail(problem)
                        return
                waited = round(time.monotonic() - began)
                self.reason = f"the {what} does not answer; the service has waited for {waited} s"
                if time.monotonic() >= next_line:
                    facts = {"for": what, "error": problem, "seconds": waited}
                    _log.warning("start_waits", extra=facts)
                    next_line = time.monotonic() + LOG_SECONDS
                await asyncio.sleep(RETRY_SECONDS)
            except Exception as error:  # noqa: BLE001 - a service that cannot start must end
                self.fail(one_line(error))
                return
            else:
                break
        try:
            self._start_threads()
        except RuntimeError as error:  # no more threads
            self.fail(one_line(error))
            return
        self.is_done = True

    def fail(self, why: str) -> None:
        """Ends the service, which can never start: `why` is a sentence for the operator."""
        self.failure = self.reason = why
        _log.error(CANNOT_START, extra={"error": why})
        self.on_failure()


class StartupMiddleware:
    """Refuses all requests but those of probes until the service has started."""

    def __init__(self, app: ASGIApp, startup: Startup) -> None:
        self._app = app
        self._startup = startup

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or refuses it."""
        is_refused = scope["type"] == "http" and not self._startup.is_done
        if is_refused and scope["path"] not in _PROBES:
            await problems.response(scope["path"], Starting())(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def one_line(error: Exception) -> str:
    """Returns an error as one sentence for the operator."""
    if isinstance(error, OSError) and error.filename:
        return (
            f"cannot use {error.filename} ({error.strerror}): make it readable and writable for "
            "the user of the service, or set IPULSE_HOME to another folder"
        )
    if isinstance(error, InvalidInput):
        return "; ".join(map(str, error.problems))
    if isinstance(error, SQLAlchemyError):
        cause = getattr(error, "orig", None) or error
        return f"the database refuses to work: {' '.join(str(cause).split())}"
    return " ".join(str(error).split())
