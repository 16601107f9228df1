"""What a script prints: metrics in lines of a certain form, and the exception that ends it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any, Dict, Iterator, List, Optional, Tuple

from ipulse_core.events import Event, LogEvent, MetricEvent
from ipulse_core.limits import MAX_INTEGER
from ipulse_core.metric_names import SCRIPT_COUNTS, SCRIPT_METRIC, SCRIPT_METRICS
from ipulse_worker.runner.user_code.trainings.relay import Pace

MARK = SCRIPT_METRICS
MAX_METRICS = 32  # in a line
MAX_NAMES = 48  # of a job: its summary has them, too
MAX_ERROR = 2000  # characters
_NAME = re.compile(SCRIPT_METRIC)
# Lines that TensorFlow and the emulation log.
_LOGGED = re.compile(r"[IWEF]\d{4} |\d{4}-\d\d-\d\d |(INFO|WARNING):|ipu-tensorflow-emulator: ")
_TRACEBACK = "Traceback (most recent call last):"
# Exceptions of scripts that need what a job does not have, and the way on.
_HINTS: Tuple[Tuple[str, str], ...] = (
    (
        r"No module named",
        "a script imports NumPy, TensorFlow, Keras and files of its package; h5py, nir and "
        "scikit-learn with `requirements`",
    ),
    (
        r"URL fetch failure|urlopen error|name resolution|Name or service not known"
        r"|Network is unreachable",
        "a job has no network: upload the data with `ipulse data push` and name them in `data`",
    ),
    (r"emulated ones are attached", "raise device.ipus"),
    (
        r"^AttributeError: module '\S*tensorflow\S*' has no attribute",
        "if the script is for TensorFlow 1, set `tf1: true`",
    ),
)


class ScriptOutput:
    """Reads the lines of one script, which may print anything."""

    def __init__(self) -> None:
        self.metrics: Dict[str, float] = {}  # the last value of each
        self._exception: Optional[str] = None  # the last one with a traceback
        self._last_line = ""  # of standard error, such as the message of sys.exit()
        self._is_in_traceback = False
        self._has_remarked = False
        self._lines = 0
        self._pace = Pace()

    @property
    def error(self) -> Optional[str]:
        """The last exception, with a hint; else what the script wrote last to standard error."""
        return self._exception or self._last_line[:MAX_ERROR] or None

    def events_of(self, event: LogEvent) -> Iterator[Event]:
        """Yield the line for the log, and the metrics in it."""
        if event.stream == "stderr":
            self._look_for_exceptions(event.message)
        if event.stream != "stdout" or not event.message.startswith(MARK):
            yield event
            return
        try:
            found = self._metric(event.message[len(MARK) :])
        except ValueError as error:
            yield event
            if not self._has_remarked:
                self._has_remarked = True
                yield LogEvent(f"no metrics: {error}", "warning")
            return
        self._pace.wait()
        yield replace(event, level="debug")
        yield found

    def _metric(self, text: str) -> MetricEvent:
        """Return the metrics of a line. Raises ValueError with what is wrong."""
        try:
            fields: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{MARK.strip()} must be followed by JSON") from error
        if not isinstance(fields, dict) or not fields:
            raise ValueError(f'{MARK.strip()} must be followed by an object, as {{"loss": 0.5}}')
        counts = {name: _count(name, fields.pop(name)) for name in SCRIPT_COUNTS if name in fields}
        if not 1 <= len(fields) <= MAX_METRICS:
            raise ValueError(f"1 to {MAX_METRICS} metrics may be in a line; got {len(fields)}")
        values = {_name(name): _value(name, value) for name, value in fields.items()}
        if len({*self.metrics, *values}) > MAX_NAMES:
            raise ValueError(f"a script may have {MAX_NAMES} metrics")
        self._lines += 1
        self.metrics.update(values)
        epoch, step = counts.get("epoch", 0), counts.get("step", self._lines)
        return MetricEvent(
            epoch=epoch,
            epochs=max(1, epoch, counts.get("epochs", 1)),
            step=step,
            steps=max(1, step, counts.get("steps", 1)),
            values=values,
            scope="epoch" if "epoch" in counts else "step",
        )

    def _look_for_exceptions(self, line: str) -> None:
        if line == _TRACEBACK:
            self._is_in_traceback = True
        elif self._is_in_traceback and line and not line.startswith(" "):
            self._is_in_traceback = False
            hints: List[str] = [hint for pattern, hint in _HINTS if re.search(pattern, line)]
            self._exception = "; ".join([line[:MAX_ERROR], *hints])
        if line and not _LOGGED.match(line):
            self._last_line = line


def _count(name: str, value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MAX_INTEGER:
        raise ValueError(f"{name} must be a whole number, from 0; got {value!r}")
    return value


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:64]!r} is no name of a metric: letters, digits and _ . / -")
    return name


def _value(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} must be a number; got {str(value)[:64]!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} is not finite")
    return number
