"""The metric events of one scope of a job as columns, which grow with the job up to a bound."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any, Literal

from pydantic_core import from_json
from sqlalchemy import Integer, bindparam, select

from ipulse_core.events import metric_scope
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import events
from ipulse_service.jobs.job import JobRow

CurveScope = Literal["epoch", "step"]

# A name takes 8 bytes for each point of the job, also where the point lacks it.
MAX_NAMES = 256  # as one event may have; a job has no curves of others
EVENTS_PER_READ = 500
MAX_VALUES = 2_000_000  # of 8 bytes; a job with more has coarser curves

_EVENTS = (
    select(events.c.seq, events.c.time, events.c.attempt, events.c.kind, events.c.body)
    .where(
        events.c.job_pk == bindparam("of_job"),
        events.c.seq > bindparam("after", type_=Integer),
        events.c.kind.in_(("metric", "phase")),
    )
    .order_by(events.c.seq)
    .limit(EVENTS_PER_READ)
)
# Most events describe steps: the database leaves them out for curves of epochs.
_EVENTS_OF_EPOCHS = _EVENTS.where(
    events.c.body.contains('"scope":"epoch"')
    | events.c.body.contains('"test_loss"')
    | (events.c.kind == "phase")
)
_TIME = select(events.c.time).where(
    events.c.job_pk == bindparam("of_job"), events.c.seq == bindparam("seq")
)
_MISSING = math.nan  # events have finite values only


@dataclass
class Column:
    """The values of a metric: the last, least and greatest of each point, and their number.

    Until points are united, all are the last ones, and `count` is empty. A value that a point lacks
    is not a number.
    """

    last: array[float]
    least: array[float]
    greatest: array[float]
    count: array[int]

    @classmethod
    def lacking(cls, points: int, is_united: bool) -> Column:
        """Returns the column of a name that no point has yet."""
        last = array("d", [_MISSING]) * points
        if not is_united:
            return cls(last, last, last, array("q"))
        return cls(last, last[:], last[:], array("q", [0]) * points)

    @property
    def arrays(self) -> tuple[array[Any], ...]:
        """The stored arrays."""
        if self.least is self.last:
            return (self.last,)
        return (self.last, self.least, self.greatest, self.count)

    def append(self, value: float) -> None:
        """Adds a point."""
        self.last.append(value)
        if self.least is not self.last:
            self.least.append(value)
            self.greatest.append(value)
            self.count.append(value == value)

    def unite(self, value: float) -> None:
        """Adds a value to the last point."""
        self.last[-1] = value
        if not self.count[-1]:
            self.least[-1] = self.greatest[-1] = value
        elif value < self.least[-1]:
            self.least[-1] = value
        elif value > self.greatest[-1]:
            self.greatest[-1] = value
        self.count[-1] += 1

    def halve(self) -> None:
        """Unites every two points; the last one stays alone if their number is odd."""
        if self.least is self.last:
            self.least, self.greatest = self.last[:], self.last[:]
            self.count = array("q", [int(value == value) for value in self.last])
        self.last = _united(self.last, lambda one, other: other)
        self.least = _united(self.least, min)
        self.greatest = _united(self.greatest, max)
        odd = self.count[-1:] if len(self.count) % 2 else array("q")
        self.count = array("q", map(add, self.count[::2], self.count[1::2])) + odd


def _united(values: array[float], choose: Callable[[float, float], float]) -> array[float]:
    odd = values[-1:] if len(values) % 2 else array("d")
    pairs = zip(values[::2], values[1::2], strict=False)
    chosen = (
        other if one != one else one if other != other else choose(one, other)
        for one, other in pairs
    )
    return array("d", chosen) + odd


class CurvePoints:
    """Columns of the points of a job. A resumed attempt replaces the points that it repeats.

    The points of a job with too many values are united, all by the same number: its curves keep
    their extremes and are coarser.
    """

    def __init__(self, scope: CurveScope) -> None:
        self.steps = array("q")
        self.epochs = array("d")  # of a step: the fraction of the training, in epochs
        self.trained = array("d")  # seconds of training, without pauses and lost attempts
        self.times = array("q")  # milliseconds
        self.columns: dict[str, Column] = {}
        self.sparse: set[str] = set()  # names that some points lack
        self.starts: list[int] = []  # index of the first point of each attempt
        self.planned = 1.0  # epochs of the whole training
        self._scope = scope
        self._stride = 1  # how many points of the job one point has
        self._in_last = 0  # how many the last one has
        self._seq = self._time = 0  # of the last event that was read, of any kind
        self._attempt: int | None = -1  # the present one
        self._began, self._before = 0, 0.0  # its time, and the seconds of training before it
        self._ran: dict[int | None, int] = {}  # when the training of each attempt began

    @property
    def size(self) -> int:
        """The number of stored values."""
        return len(self.steps) * (4 + len(self.columns) * (1 if self._stride == 1 else 4))

    def read_new(self, transaction: Transaction, job: JobRow) -> bool:
        """Reads the events that were stored since the last call.

        Returns False, and reads nothing, if the job has another history than then: the database
        was restored from a backup, or this transaction sees an earlier state.
        """
        if self._seq:
            last = {"of_job": job.pk, "seq": self._seq}
            if transaction.connection.execute(_TIME, last).scalar_one_or_none() != self._time:
                return False
        if job.last_seq > self._seq:
            self._read(transaction, job)
            last = {"of_job": job.pk, "seq": job.last_seq}
            self._seq = job.last_seq
            self._time = transaction.connection.execute(_TIME, last).scalar_one()
        return True

    def _read(self, transaction: Transaction, job: JobRow) -> None:
        query = _EVENTS_OF_EPOCHS if self._scope == "epoch" else _EVENTS
        after = self._seq
        while True:  # not all at once: they may take gigabytes
            found = transaction.connection.execute(query, {"of_job": job.pk, "after": after})
            rows: list[Any] = list(found)
            self._add_rows(rows)
            if len(rows) < EVENTS_PER_READ:
                return
            after = rows[-1].seq

    def _add_rows(self, rows: Sequence[Any]) -> None:
        # One document is parsed faster than thousands.
        document = ",".join([row.body for row in rows])
        for (_, time, attempt, kind, _), body in zip(rows, from_json(f"[{document}]"), strict=True):
            if kind == "phase":
                if body["phase"] == "run":
                    self._ran.setdefault(attempt, time)
                continue
            if metric_scope(body) == self._scope:
                self._add(time, attempt, body)

    def _add(self, time: int, attempt: int | None, body: dict[str, Any]) -> None:
        steps, step = self.steps, body["step"]
        if steps and step <= steps[-1]:
            self._rewind(step)
        if attempt != self._attempt:
            self._attempt, self._began = attempt, self._ran.get(attempt, time)
            self._before = self.trained[-1] if steps else 0.0
            self.starts.append(len(steps))
            self._in_last = self._stride  # its points are united with none of the one before
        is_epoch = self._scope == "epoch"
        self.planned = body["epochs"]
        values = body["values"]
        if len(self.columns.keys() | values.keys()) > MAX_NAMES:
            values = self._known(values)
        epoch = body["epoch"] if is_epoch else step * body["epochs"] / body["steps"]
        place = (step, epoch, self._before + (time - self._began) / 1000, time)
        if steps and self._in_last < self._stride:
            self._unite(place, values)
            return
        if values.keys() != self.columns.keys():
            self._fill(values)
        for name, value in values.items():
            self.columns[name].append(value)
        for xs, x in zip(self._xs, place, strict=True):
            xs.append(x)
        self._in_last = 1
        if self.size > MAX_VALUES:
            self._halve()

    @property
    def _xs(self) -> tuple[array[Any], ...]:
        return (self.steps, self.epochs, self.trained, self.times)

    def _unite(self, place: Sequence[float], values: dict[str, float]) -> None:
        """Adds the values of an event to the last point, which moves to the place of the event."""
        for xs, x in zip(self._xs, place, strict=True):
            xs[-1] = x
        for name, value in values.items():
            if name not in self.columns:
                self.columns[name] = Column.lacking(len(self.steps), is_united=True)
                self.sparse.add(name)
            self.columns[name].unite(value)
        self._in_last += 1

    def _halve(self) -> None:
        """Unites every two points."""
        is_odd = len(self.steps) % 2
        for column in self.columns.values():
            column.halve()
        self.steps, self.epochs, self.trained, self.times = (
            xs[1::2] + (xs[-1:] if is_odd else xs[:0]) for xs in self._xs
        )
        self.starts = sorted({start // 2 for start in self.starts})
        self._in_last += 0 if is_odd else self._stride
        self._stride *= 2

    def _known(self, values: dict[str, float]) -> dict[str, float]:
        """Returns the values of names with a curve, and of new ones as long as there is room."""
        kept = {name: value for name, value in values.items() if name in self.columns}
        for name, value in values.items():
            if len(self.columns.keys() | kept.keys()) < MAX_NAMES:
                kept[name] = value
        return kept

    def _fill(self, values: dict[str, float]) -> None:
        """Adds columns of new names, and what is missing in the others."""
        length = len(self.steps)
        for name in values:
            if name not in self.columns:
                self.columns[name] = Column.lacking(length, is_united=self._stride > 1)
                if length:
                    self.sparse.add(name)
        for name, column in self.columns.items():
            if name not in values:
                column.append(_MISSING)
                self.sparse.add(name)

    def _rewind(self, step: int) -> None:
        length = bisect_left(self.steps, step)
        for column in self.columns.values():
            for values in column.arrays:
                del values[length:]
        for xs in self._xs:
            del xs[length:]
        self._in_last = self._stride
        self.starts = [start for start in self.starts if start < length]
