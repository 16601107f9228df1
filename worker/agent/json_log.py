"""The agent's log: one JSON object a line on standard error, an action word and its facts.

    _log.info("job_claimed", extra={"job": ..., "attempt": ...})

The first argument is the action; whatever `extra` holds stands beside it.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class JSONFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "action": record.getMessage(),
            "logger": record.name,
        }
        line.update({name: fact for name, fact in vars(record).items() if name not in _STANDARD})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure(level: int = logging.INFO) -> None:
    """Sends every log record and warning of this process to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(True)
    # They narrate every request and message; what matters of those is said by the agent itself.
    for talkative in ("httpx", "httpcore", "celery", "kombu"):
        logging.getLogger(talkative).setLevel(logging.WARNING)
