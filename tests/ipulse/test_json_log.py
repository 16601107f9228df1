"""The log is one JSON object a line, whatever is logged."""

from __future__ import annotations

import json
import logging
import sys

from ipulse.json_log import JSONLines


def line(record: logging.LogRecord) -> dict[str, object]:
    text = JSONLines().format(record)
    assert "\n" not in text
    value: dict[str, object] = json.loads(text)
    return value


def record(message: str, **extra: object) -> logging.LogRecord:
    made = logging.getLogger("ipulse_worker.agent").makeRecord(
        "ipulse_worker.agent", logging.WARNING, __file__, 1, message, (), None, extra=extra
    )
    return made


def test_the_action_stands_next_to_its_facts() -> None:
    value = line(record("job_claimed", job="job_1", attempt="att_1"))
    assert value["action"] == "job_claimed"
    assert value["level"] == "warning"
    assert (value["job"], value["attempt"]) == ("job_1", "att_1")
    assert str(value["time"]).endswith("Z")


def test_a_traceback_stays_on_its_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        made = record("failed")
        made.exc_info = sys.exc_info()
    assert "ValueError: two\nlines" in str(line(made)["traceback"])


def test_what_is_no_json_is_shown_as_text() -> None:
    assert line(record("path", path={1, 2}.__class__))["path"] == "<class 'set'>"
