"""Logs as JSON lines on standard error: a word for what happened, and its facts as fields."""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime

# Of the request being answered; a thread that works for it sees them too.
request_id: ContextVar[str] = ContextVar("request_id", default="")
about: ContextVar[dict[str, str] | None] = ContextVar("about", default=None)

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def know(**facts: str) -> None:
    """Adds facts, such as the job's id, to every later line about the present request."""
    known = about.get()
    if known is not None:
        known.update(facts)


class JSONLines(logging.Formatter):
    """One record as one JSON object; what was passed as `extra` becomes its fields."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        if request_id.get():
            line["request_id"] = request_id.get()
        line.update(about.get() or {})
        line.update({key: value for key, value in vars(record).items() if key not in _STANDARD})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure() -> None:
    """Sends every logger of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # What they say at this level is said already, or concerns nobody.
    for name in ("alembic", "kombu", "celery", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.WARNING)
