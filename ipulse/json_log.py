"""The log of a long-running process: one JSON object a line on standard error.

    _log.info("job_claimed", extra={"job": ..., "attempt": ...})

The first argument is the action, a stable identifier. The fields of `extra` are added.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ipulse.log_file import VARIABLE, LogFileHandler

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JSONLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        moment = datetime.fromtimestamp(record.created, timezone.utc)
        line = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "action": record.getMessage(),
            **self.context(),
        }
        line.update({name: fact for name, fact in vars(record).items() if name not in _STANDARD})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)

    def context(self) -> dict[str, Any]:
        """Return fields that every line written at this moment contains."""
        return {}


def configure(formatter: logging.Formatter, talkative: Iterable[str]) -> None:
    """Send all log records and warnings of this process to standard error.

    `talkative` names loggers of which only warnings are written. If the starter says to which file
    standard error leads, the file is kept small.
    """
    path = os.environ.get(VARIABLE)
    handler = LogFileHandler(Path(path)) if path else logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    for name in talkative:
        logging.getLogger(name).setLevel(logging.WARNING)
