"""How long jobs usually take, as a basis of estimates."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from math import log
from statistics import median
from typing import Literal

from sqlalchemy import bindparam, select

from ipulse_core.states import ACTIVE, JobState
from ipulse_service.agents.needs import Needs
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs.queue.work import work_of_text
from ipulse_service.jobs.transitions import PHASE_OF_STATE

RECENT = 60  # successful jobs of a kind of device that are looked at
FEWEST = 3  # of the same size, without which there is no estimate
NEAREST = 7  # jobs of the most similar work, from which the time of another one is expected
SAME = 0.05  # relative difference of the work of jobs that are alike
ONE_ERROR, LEAST_ERROR = 2.0, 1.1  # factors: from one other job, and in any case

_PHASES = [PHASE_OF_STATE[state] for state in ACTIVE]
_RUN = PHASE_OF_STATE[JobState.RUNNING]
_LATEST = (
    select(jobs.c.ipus, jobs.c.phase_ms)
    .where(jobs.c.state == JobState.SUCCEEDED.value, jobs.c.device == bindparam("of_kind"))
    .order_by(jobs.c.pk.desc())
    .limit(RECENT)
)
_LATEST_SPECS = _LATEST.add_columns(jobs.c.spec)  # which may be large


class UsualDurations:
    """The median time with agents of the latest successful jobs, by kind and number of devices."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._of_kind: dict[str, dict[int, int]] = {}

    def of(self, needs: Needs) -> int | None:
        """Returns the usual duration in milliseconds, None without a basis."""
        if needs.device not in self._of_kind:
            self._of_kind[needs.device] = self._read(needs.device)
        return self._of_kind[needs.device].get(needs.ipus)

    def _read(self, kind: str) -> dict[int, int]:
        took = defaultdict(list)
        for ipus, text in self._transaction.connection.execute(_LATEST, {"of_kind": kind}):
            phases = json.loads(text)
            took[ipus].append(sum(phases.get(phase, 0) for phase in _PHASES))
        return {ipus: round(median(each)) for ipus, each in took.items() if len(each) >= FEWEST}


@dataclass(frozen=True)
class Expected:
    """How long a job is expected to be with agents. Times are milliseconds."""

    ms: float
    least_ms: float
    most_ms: float
    basis: Literal["like_jobs", "work"]
    jobs: int  # of which the times were taken


def expected(transaction: Transaction, needs: Needs, work: float | None) -> Expected | None:
    """Returns how long a job takes, from successful jobs with its device and number of IPUs.

    Three that do the same work are enough. Otherwise the work in a second of the jobs with the most
    similar work counts, with the spread of what each of them would predict. None without a basis.
    """
    if not work:
        return None
    found: list[tuple[float, float, float]] = []  # work, milliseconds of the run, and of the rest
    for ipus, text, spec in transaction.connection.execute(
        _LATEST_SPECS, {"of_kind": needs.device}
    ):
        done = work_of_text(spec) if ipus == needs.ipus else None
        phases = json.loads(text)
        run = phases.get(_RUN, 0)
        if done and run:
            found.append((done, run, sum(phases.get(phase, 0) for phase in _PHASES) - run))
    alike = [run + rest for done, run, rest in found if abs(done / work - 1) <= SAME]
    if len(alike) >= FEWEST:
        return _expected(alike, "like_jobs", LEAST_ERROR)
    nearest = sorted(found, key=lambda each: abs(log(each[0] / work)))[:NEAREST]
    if not nearest:
        return None
    rest = median(rest for _, _, rest in nearest)
    predicted = [run * work / done + rest for done, run, _ in nearest]
    return _expected(predicted, "work", ONE_ERROR if len(nearest) < FEWEST else LEAST_ERROR)


def _expected(found: list[float], basis: Literal["like_jobs", "work"], error: float) -> Expected:
    middle = median(found)
    least, most = min(*found, middle / error), max(*found, middle * error)
    return Expected(middle, least, most, basis, len(found))
