"""Sweeps and trials as the API returns them, and requests that change a sweep."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field

from ipulse.models import Integer, StrictModel
from ipulse.sweeps.config import EXAMPLE, MAX_TRIALS
from ipulse_service.db.engine import rfc3339
from ipulse_service.http.schemas.base import JOB_ID, Timestamp, example
from ipulse_service.sweeps.rows import (
    SweepReason,
    SweepRow,
    SweepState,
    TrialJob,
    TrialRow,
    TrialState,
)
from ipulse_service.sweeps.spread import Spread

SWEEP_ID = "swp_0b5c2e6f7a8d9c1e2f3a4b5c"
_PARAMETERS = {"/training/optimizer/learning_rate": 0.01}
_SWEEP: dict[str, Any] = {
    "object": "sweep",
    "id": SWEEP_ID,
    "name": "digits-rate",
    "state": "running",
    "reason": None,
    "message": "",
    "method": "grid",
    "parameters": ["/training/optimizer/learning_rate"],
    "metric": "test_accuracy",
    "goal": "maximize",
    "trials": 3,
    "parallel": 3,
    "begun": 3,
    "by_state": {"running": 2, "succeeded": 1},
    "best": {"number": 1, "parameters": _PARAMETERS, "value": 0.968},
    "created_at": "2026-01-31T12:00:00.000Z",
    "updated_at": "2026-01-31T12:03:00.000Z",
    "finished_at": None,
    "version": 5,
}
_TRIAL: dict[str, Any] = {
    "number": 1,
    "parameters": _PARAMETERS,
    "state": "succeeded",
    "message": "",
    "value": 0.968,
    "n": 1,
    "deviation": None,
    "minimum": 0.968,
    "maximum": 0.968,
    "interval": None,
    "jobs": [{"id": JOB_ID, "seed": 1, "state": "succeeded", "value": 0.968, "message": ""}],
    "created_at": "2026-01-31T12:00:00.000Z",
    "finished_at": "2026-01-31T12:03:00.000Z",
}


class SweepChange(StrictModel):
    """A change of a sweep."""

    model_config = example(trials=60, parallel=8)

    trials: Annotated[Integer, Field(ge=1, le=MAX_TRIALS)] | None = Field(
        default=None, description="Number of trials in all; a sweep that has ended goes on."
    )
    parallel: Annotated[Integer, Field(ge=1, le=1000)] | None = Field(
        default=None, description="Trials at the same time."
    )


class TrialJobInfo(BaseModel):
    """A job of a trial: one replica."""

    id: str
    seed: int
    state: str = Field(description="The state of the job; deleted: it was deleted before its end.")
    value: float | None = Field(description="Its value of the objective.")
    message: str = Field(description="Why it has no value, if it has ended without.")

    @classmethod
    def from_row(cls, job: TrialJob) -> Self:
        """Returns the model of a stored job of a trial."""
        return cls(
            id=job.job_id,
            seed=job.seed,
            state=job.shown_state,
            value=job.value,
            message=job.message,
        )


class TrialInfo(BaseModel):
    """A trial with the figures over its replicas."""

    model_config = example(**_TRIAL)

    number: int = Field(description="From 1.")
    parameters: dict[str, Any] = Field(description="Values by JSON pointer into the spec.")
    state: TrialState
    message: str = Field(description="Which replicas have no value, and why.")
    value: float | None = Field(description="Mean over the replicas that have a value.")
    n: int = Field(description="Number of these replicas.")
    deviation: float | None = Field(description="Sample deviation (n - 1); null for n = 1.")
    minimum: float | None
    maximum: float | None
    interval: float | None = Field(
        description="Half the width of the 95 % interval of the mean by Student's t."
    )
    jobs: list[TrialJobInfo]
    created_at: Timestamp | None
    finished_at: Timestamp | None

    @classmethod
    def from_rows(cls, trial: TrialRow, jobs: Sequence[TrialJob]) -> Self:
        """Returns the model of a stored trial and its jobs."""
        spread = Spread.of([job.value for job in jobs if job.value is not None])
        return cls(
            number=trial.number,
            parameters=json.loads(trial.parameters),
            state=trial.state,
            message=trial.message,
            value=spread.mean if spread else None,
            n=spread.n if spread else 0,
            deviation=spread.deviation if spread else None,
            minimum=spread.minimum if spread else None,
            maximum=spread.maximum if spread else None,
            interval=spread.interval if spread else None,
            jobs=[TrialJobInfo.from_row(job) for job in jobs],
            created_at=rfc3339(trial.created_at),
            finished_at=rfc3339(trial.finished_at),
        )


class TrialList(BaseModel):
    """One page of the trials of a sweep that have begun, in order."""

    model_config = example(trials=[_TRIAL], next_after=None)

    trials: list[TrialInfo]
    next_after: int | None = Field(description="`after` of the next page; null on the last one.")


class BestTrial(BaseModel):
    """The best trial so far."""

    number: int
    parameters: dict[str, Any]
    value: float

    @classmethod
    def from_row(cls, trial: TrialRow | None) -> Self | None:
        """Returns the model of a stored trial."""
        if trial is None or trial.value is None:
            return None
        return cls(number=trial.number, parameters=json.loads(trial.parameters), value=trial.value)


class SweepInfo(BaseModel):
    """A sweep as a list contains it."""

    model_config = example(**_SWEEP)

    object: Literal["sweep"] = "sweep"
    id: str = Field(description="Also the group of its jobs.")
    name: str
    state: SweepState
    reason: SweepReason | None = Field(description="Why it stops or has ended.")
    message: str
    method: str
    parameters: list[str] = Field(description="JSON pointers of the settings that vary.")
    metric: str
    goal: Literal["maximize", "minimize"]
    trials: int = Field(description="Number of trials in all.")
    parallel: int = Field(description="Trials at the same time.")
    begun: int = Field(description="Number of trials that have begun.")
    by_state: dict[TrialState, int] = Field(description="Trials that have begun, by their state.")
    best: BestTrial | None = Field(description="The succeeded trial with the best value.")
    created_at: Timestamp | None
    updated_at: Timestamp | None
    finished_at: Timestamp | None
    version: int = Field(description="Incremented by every change of the sweep.")

    @classmethod
    def from_rows(cls, sweep: SweepRow, counts: Mapping[str, int], best: TrialRow | None) -> Self:
        """Returns the model of a stored sweep."""
        return cls(**_fields(sweep, counts, best))


class SweepDetail(SweepInfo):
    """A sweep with its definition, its jobs and their cost."""

    model_config = example(
        **_SWEEP,
        config=EXAMPLE,
        jobs_by_state={"running": 2, "succeeded": 1},
        device_seconds=180.5,
    )

    config: dict[str, Any] = Field(description="The definition with every default filled in.")
    jobs_by_state: dict[str, int] = Field(description="Jobs of its trials by their state.")
    device_seconds: float = Field(description="Time that agents spent on its ended jobs.")

    @classmethod
    def of(
        cls,
        sweep: SweepRow,
        counts: Mapping[str, int],
        best: TrialRow | None,
        job_counts: Mapping[str, int],
        run_ms: int,
    ) -> Self:
        """Returns the model of a stored sweep and what its jobs add up to."""
        return cls(
            **_fields(sweep, counts, best),
            config=json.loads(sweep.config),
            jobs_by_state=dict(job_counts),
            device_seconds=run_ms / 1000,
        )


class SweepList(BaseModel):
    """One page of a list of sweeps, newest first."""

    model_config = example(sweeps=[_SWEEP], next_page_token="")

    sweeps: list[SweepInfo]
    next_page_token: str = Field(description="Empty on the last page.")


def _fields(sweep: SweepRow, counts: Mapping[str, int], best: TrialRow | None) -> dict[str, Any]:
    config = sweep.definition
    return {
        "id": sweep.id,
        "name": sweep.name,
        "state": sweep.state,
        "reason": sweep.reason,
        "message": sweep.message,
        "method": config.method,
        "parameters": config.space.pointers,
        "metric": config.objective.metric,
        "goal": config.objective.goal,
        "trials": sweep.trials,
        "parallel": sweep.parallel,
        "begun": sweep.next_trial - 1,
        "by_state": dict(counts),
        "best": BestTrial.from_row(best),
        "created_at": rfc3339(sweep.created_at),
        "updated_at": rfc3339(sweep.updated_at),
        "finished_at": rfc3339(sweep.finished_at),
        "version": sweep.version,
    }
