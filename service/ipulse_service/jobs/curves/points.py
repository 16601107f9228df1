"""The metric events of one scope of a job as columns, which grow with the job."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Literal

from pydantic_core import from_json
from sqlalchemy import Integer, bindparam, select

from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import events
from ipulse_service.jobs.job import JobRow

CurveScope = Literal["epoch", "step"]

# A name takes 8 bytes for each point of the job, also where the point lacks it.
MAX_NAMES = 256  # as one event may have; a job has no curves of others
EVENTS_PER_READ = 500

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


class CurvePoints:
    """Columns of the points of a job. A resumed attempt replaces the points that it repeats."""

    def __init__(self, scope: CurveScope) -> None:
        self.steps = array("q")
        self.epochs = array("d")  # of a step: the fraction of the training, in epochs
        self.trained = array("d")  # seconds of training, without pauses and lost attempts
        self.times = array("q")  # milliseconds
        self.values: dict[str, array[float]] = {}
        self.sparse: set[str] = set()  # names that some points lack
        self.starts: list[int] = []  # index of the first point of each attempt
        self._scope = scope
        self._seq = self._time = 0  # of the last event that was read, of any kind
        self._attempt: int | None = -1  # the present one
        self._began, self._before = 0, 0.0  # its time, and the seconds of training before it
        self._ran: dict[int | None, int] = {}  # when the training of each attempt began

    @property
    def size(self) -> int:
        """The number of stored values."""
        return len(self.steps) * (4 + len(self.values))

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
            # Version 0.1 stored no scope; only epochs had test metrics.
            scope = body.get("scope") or ("epoch" if "test_loss" in body["values"] else "step")
            if scope == self._scope:
                self._add(time, attempt, body)

    def _add(self, time: int, attempt: int | None, body: dict[str, Any]) -> None:
        steps, step = self.steps, body["step"]
        if steps and step <= steps[-1]:
            self._rewind(step)
        if attempt != self._attempt:
            self._attempt, self._began = attempt, self._ran.get(attempt, time)
            self._before = self.trained[-1] if steps else 0.0
            self.starts.append(len(steps))
        is_epoch = self._scope == "epoch"
        values = body["values"]
        if len(self.values.keys() | values.keys()) > MAX_NAMES:
            values = self._known(values)
        if values.keys() != self.values.keys():
            self._fill(values)
        for name, value in values.items():
            self.values[name].append(value)
        steps.append(step)
        self.epochs.append(body["epoch"] if is_epoch else step * body["epochs"] / body["steps"])
        self.trained.append(self._before + (time - self._began) / 1000)
        self.times.append(time)

    def _known(self, values: dict[str, float]) -> dict[str, float]:
        """Returns the values of names with a curve, and of new ones as long as there is room."""
        kept = {name: value for name, value in values.items() if name in self.values}
        for name, value in values.items():
            if len(self.values.keys() | kept.keys()) < MAX_NAMES:
                kept[name] = value
        return kept

    def _fill(self, values: dict[str, float]) -> None:
        """Adds columns of new names, and what is missing in the others."""
        length = len(self.steps)
        for name in values:
            if name not in self.values:
                self.values[name] = array("d", [_MISSING]) * length
                if length:
                    self.sparse.add(name)
        for name, column in self.values.items():
            if name not in values:
                column.append(_MISSING)
                self.sparse.add(name)

    def _rewind(self, step: int) -> None:
        length = bisect_left(self.steps, step)
        del self.steps[length:], self.times[length:]
        for column in (self.epochs, self.trained, *self.values.values()):
            del column[length:]
        self.starts = [start for start in self.starts if start < length]
