"""Trials of sweeps as the API returns them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Self

from pydantic import BaseModel, Field

from ipulse_service.db.engine import rfc3339
from ipulse_service.http.schemas.base import JOB_ID, Timestamp, example
from ipulse_service.jobs.search.spread import Spread
from ipulse_service.sweeps.rows import TrialJob, TrialRow, TrialState

PARAMETERS = {"/training/optimizer/learning_rate": 0.01}
_TRIAL: dict[str, Any] = {
    "number": 1,
    "parameters": PARAMETERS,
    "state": "succeeded",
    "message": "",
    "value": 0.968,
    "n": 1,
    "deviation": None,
    "minimum": 0.968,
    "maximum": 0.968,
    "interval": None,
    "jobs": [
        {
            "id": JOB_ID,
            "seed": 1,
            "state": "succeeded",
            "value": 0.968,
            "message": "",
            "deleted": False,
        }
    ],
    "created_at": "2026-01-31T12:00:00.000Z",
    "finished_at": "2026-01-31T12:03:00.000Z",
}


class TrialJobInfo(BaseModel):
    """A job of a trial: one replica."""

    id: str
    seed: int
    state: str = Field(description="The state of the job; deleted: it was deleted before its end.")
    value: float | None = Field(description="Its value of the objective.")
    message: str = Field(description="Why it has no value, if it has ended without.")
    deleted: bool = Field(description="Whether the job was deleted; its value stays.")

    @classmethod
    def from_row(cls, job: TrialJob) -> Self:
        """Returns the model of a stored job of a trial."""
        return cls(
            id=job.job_id,
            seed=job.seed,
            state=job.shown_state,
            value=job.value,
            message=job.message,
            deleted=job.is_deleted,
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
