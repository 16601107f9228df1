"""The rows of sweeps, trials and their jobs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from ipulse.sweeps import SweepConfig, parse_sweep
from ipulse_core.states import JobState
from ipulse_service.db.access import Access, of_owner
from ipulse_service.db.tables import sweep_jobs, sweep_trials, sweeps


class SweepState(StrEnum):
    """The state of a sweep."""

    RUNNING = "running"
    PAUSED = "paused"  # begins no trials; those that have begun continue
    STOPPING = "stopping"  # begins no more trials, and waits for those that have begun
    ENDED = "ended"


class SweepReason(StrEnum):
    """The reason why a sweep stops or has ended."""

    COMPLETED = "completed"
    STOPPED_BY_USER = "stopped_by_user"
    TARGET_REACHED = "target_reached"
    TIME_LIMIT = "time_limit"
    DEVICE_LIMIT = "device_limit"
    TRIALS_FAILED = "trials_failed"  # too many in a row


class TrialState(StrEnum):
    """The state of a trial."""

    RUNNING = "running"  # its jobs are queued, run or have ended
    SUCCEEDED = "succeeded"
    PRUNED = "pruned"  # stopped early, because it is weak
    FAILED = "failed"
    CANCELLED = "cancelled"


class SweepRow(NamedTuple):
    """A sweep's row. Times are milliseconds since 1970."""

    pk: int
    id: str
    name: str
    config: str  # JSON
    fingerprint: str
    fingerprint_rule: int
    state: SweepState
    reason: SweepReason | None
    message: str
    trials: int
    parallel: int
    next_trial: int  # the first that has not begun
    created_at: int
    updated_at: int
    finished_at: int | None
    continued_at: int | None  # when it last continued after its end
    version: int
    project: str
    owner: str  # of its jobs, too
    created_by: str

    @property
    def rights(self) -> Access:
        """The rights with which its jobs are added."""
        return of_owner(self.owner, self.project)

    @classmethod
    def of(cls, row: Sequence[Any]) -> SweepRow:
        """Makes a sweep of a row of SWEEP_COLUMNS."""
        found = cls(*row)
        reason = found.reason and SweepReason(found.reason)
        return found._replace(state=SweepState(found.state), reason=reason)

    @property
    def tag(self) -> str:
        """The content of its ETag."""
        return f"{self.version}-{self.updated_at:x}"

    @property
    def began_at(self) -> int:
        """When it was created, or last continued after its end."""
        return self.created_at if self.continued_at is None else self.continued_at

    @property
    def definition(self) -> SweepConfig:
        """The definition that it was created with."""
        return _parsed(self.config)


class Proposal(NamedTuple):
    """The parameters of the next trial, and what was known when they were proposed."""

    number: int  # of the trial
    parameters: dict[str, Any]  # values by pointer
    # Numbers of the trials that had ended; None: it does not depend on them.
    based_on: tuple[int, ...] | None = None


class TrialRow(NamedTuple):
    """A trial's row. Times are milliseconds since 1970."""

    pk: int
    sweep_pk: int
    number: int  # from 1
    parameters: str  # JSON: values by pointer
    state: TrialState
    message: str
    value: float | None  # the mean over its jobs
    based_on: str | None  # JSON: numbers of the trials that had ended when it was proposed
    created_at: int
    finished_at: int | None

    @classmethod
    def of(cls, row: Sequence[Any]) -> TrialRow:
        """Makes a trial of a row of TRIAL_COLUMNS."""
        found = cls(*row)
        return found._replace(state=TrialState(found.state))


class TrialJob(NamedTuple):
    """A job of a trial, and its result."""

    trial_pk: int
    seed: int
    job_pk: int | None  # None: it was deleted
    job_id: str
    state: str | None  # its final state; None: it has not ended
    message: str
    value: float | None
    run_ms: int  # time with agents
    repeats: bool  # it runs again, or another one takes its place
    replaced_ms: int  # time with agents of the jobs that it replaced
    now: str | None = None  # the present state of the job

    @property
    def is_deleted(self) -> bool:
        """True if the job does not exist any more; its result may be stored."""
        return self.job_pk is None

    @property
    def shown_state(self) -> str:
        """The state of the job, also before its end."""
        return self.state or self.now or JobState.QUEUED.value


SWEEP_COLUMNS = tuple(sweeps.c[name] for name in SweepRow._fields)
TRIAL_COLUMNS = tuple(sweep_trials.c[name] for name in TrialRow._fields)
JOB_COLUMNS = tuple(sweep_jobs.c[name] for name in TrialJob._fields if name != "now")


@lru_cache(64)
def _parsed(text: str) -> SweepConfig:
    return parse_sweep(json.loads(text))
