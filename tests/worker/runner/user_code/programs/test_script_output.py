"""What a script prints: metrics in lines of the documented form, and its last exception."""

from __future__ import annotations

from typing import List

import pytest

from ipulse_core.events import Event, LogEvent, MetricEvent, Stream
from ipulse_worker.runner.user_code.programs.script_output import MARK, ScriptOutput


def printed(output: ScriptOutput, text: str, stream: Stream = "stdout") -> List[Event]:
    return list(output.events_of(LogEvent(text, "info", stream)))


def test_a_line_with_metrics_becomes_points_of_curves() -> None:
    output = ScriptOutput()
    line, metric = printed(output, MARK + '{"loss": 2, "accuracy": 0.5}')
    assert isinstance(line, LogEvent)
    assert line.level == "debug"
    assert isinstance(metric, MetricEvent)
    assert (metric.scope, metric.step, metric.values) == ("step", 1, {"loss": 2.0, "accuracy": 0.5})
    _, metric = printed(output, MARK + '{"epoch": 3, "epochs": 5, "step": 40, "loss": 1.5}')
    assert isinstance(metric, MetricEvent)
    assert (metric.scope, metric.epoch, metric.epochs, metric.step) == ("epoch", 3, 5, 40)
    assert output.metrics == {"loss": 1.5, "accuracy": 0.5}


@pytest.mark.parametrize(
    "text",
    [
        *("", "no JSON", "[1]", "{}", '{"epoch": 1}', '{"loss": "low"}', '{"loss": NaN}'),
        *('{"loss": true}', '{"a b": 1}', '{"epoch": 1.5, "loss": 1}', '{"step": -1, "loss": 1}'),
        *('{"loss": 1e999}', '{"loss": ' + "9" * 400 + "}", "[" * 100_000),
        "{" + ", ".join(f'"m{n}": 1' for n in range(33)) + "}",
    ],
)
def test_other_lines_stay_in_the_log_with_one_remark(text: str) -> None:
    output = ScriptOutput()
    line, remark = printed(output, MARK + text)
    assert line == LogEvent(MARK + text, "info", "stdout")
    assert isinstance(remark, LogEvent)
    assert remark.level == "warning"
    assert len(printed(output, MARK + text)) == 1
    assert output.metrics == {}


def test_standard_error_has_no_metrics() -> None:
    assert len(printed(ScriptOutput(), MARK + '{"loss": 1}', "stderr")) == 1


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("ModuleNotFoundError: No module named 'torch'", "requirements"),
        ("urllib.error.URLError: <urlopen error [Errno -3] Temporary failure>", "ipulse data push"),
        ("ValueError: Requested 8 IPUs and 4 emulated ones are attached.", "device.ipus"),
        ("AttributeError: module 'tensorflow' has no attribute 'placeholder'", "tf1: true"),
        ("ValueError: odd", "ValueError: odd"),
    ],
)
def test_the_last_exception_has_a_way_on(message: str, hint: str) -> None:
    output = ScriptOutput()
    for line in ("Traceback (most recent call last):", '  File "a.py", line 1', "KeyError: 1", ""):
        printed(output, line, "stderr")
    for line in ("Traceback (most recent call last):", '  File "a.py", line 1', message):
        printed(output, line, "stderr")
    assert output.error is not None
    assert output.error.startswith(message)
    assert hint in output.error


def test_without_an_exception_the_last_line_says_why() -> None:
    output = ScriptOutput()
    assert output.error is None
    for line in ("usage: train.py LIBRARY", "train.py: error: no LIBRARY", "WARNING: unrelated"):
        printed(output, line, "stderr")
    assert output.error == "train.py: error: no LIBRARY"
