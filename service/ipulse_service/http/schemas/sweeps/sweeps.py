"""Sweeps as the API returns them, and requests that change a sweep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field

from ipulse.models import Integer, ListOf, StrictModel
from ipulse.sweeps import SweepLimits
from ipulse.sweeps.config import EXAMPLE, MAX_PARAMETERS, MAX_TRIALS
from ipulse.sweeps.parameters import MAX_VALUES
from ipulse_service.db.access import Access
from ipulse_service.db.engine import rfc3339
from ipulse_service.http.schemas.base import Timestamp, example
from ipulse_service.http.schemas.sweeps.trials import PARAMETERS, BestTrial
from ipulse_service.sweeps.permissions import SweepAction, allowed
from ipulse_service.sweeps.rows import (
    SweepReason,
    SweepRow,
    SweepState,
    TrialRow,
    TrialState,
)

SWEEP_ID = "swp_0b5c2e6f7a8d9c1e2f3a4b5c"
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
    "best": {"number": 1, "parameters": PARAMETERS, "value": 0.968},
    "created_at": "2026-01-31T12:00:00.000Z",
    "updated_at": "2026-01-31T12:03:00.000Z",
    "finished_at": None,
    "project": "default",
    "owner": "alice",
    "created_by": "alice",
    "version": 5,
}


class SweepChange(StrictModel):
    """A change of a sweep."""

    model_config = example(
        trials=60,
        parallel=8,
        values={"/training/optimizer/learning_rate": [0.03]},
        seeds=[4, 5],
        limits={"device_hours": 20.0},
    )

    trials: Annotated[Integer, Field(ge=1, le=MAX_TRIALS)] | None = Field(
        default=None, description="Number of trials in all; a sweep that has ended continues."
    )
    parallel: Annotated[Integer, Field(ge=1, le=1000)] | None = Field(
        default=None, description="Trials at the same time."
    )
    values: dict[str, Annotated[ListOf[Any], Field(min_length=1, max_length=MAX_VALUES)]] = Field(
        default={},
        max_length=MAX_PARAMETERS,
        description="More values of settings that the sweep varies, by JSON pointer. Their points "
        "of the grid are new trials, after all others.",
    )
    seeds: Annotated[ListOf[Annotated[Integer, Field(ge=0)]], Field(max_length=100)] = Field(
        default=(),
        description="More seeds. Trials that have succeeded get a job of each; so do those that "
        "run or begin later.",
    )
    limits: SweepLimits | None = Field(
        default=None,
        description="All limits of the sweep from now on; a sweep that a limit has ended continues "
        "if trials are left. `run_seconds` counts from the continuation.",
    )


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
    project: str
    owner: str = Field(description="Who may change it, like maintainers of the project.")
    created_by: str
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
        allowed=["change", "grow"],
        jobs_by_state={"running": 2, "succeeded": 1},
        device_seconds=180.5,
        cost={"succeeded": 150.0, "failed": 20.5, "lost": 10.0, "running": 12.0},
    )

    config: dict[str, Any] = Field(description="The definition with every default filled in.")
    allowed: list[SweepAction] = Field(
        description="What the rights of the caller let it do, whatever the sweep's state. change: "
        "pause, resume, stop and delete it; grow: also extend it and repeat jobs, which needs the "
        "right to submit code for a sweep with custom ops."
    )
    jobs_by_state: dict[str, int] = Field(description="Jobs of its trials by their state.")
    device_seconds: float = Field(description="Time that agents spent on its ended jobs.")
    cost: dict[str, float] = Field(
        description="Device seconds of the attempts at its jobs by their outcome: succeeded, "
        "stopped, failed, lost or running. A job with n IPUs counts n times; those that were "
        "deleted do not count."
    )

    @classmethod
    def of(
        cls,
        sweep: SweepRow,
        access: Access,
        counts: Mapping[str, int],
        best: TrialRow | None,
        job_counts: Mapping[str, int],
        run_ms: int,
        cost_ms: Mapping[str, int],
    ) -> Self:
        """Returns the model of a stored sweep for a caller, and what its jobs add up to."""
        return cls(
            **_fields(sweep, counts, best),
            config=json.loads(sweep.config),
            allowed=allowed(access, sweep),
            jobs_by_state=dict(job_counts),
            device_seconds=run_ms / 1000,
            cost={outcome: ms / 1000 for outcome, ms in sorted(cost_ms.items())},
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
        "project": sweep.project,
        "owner": sweep.owner,
        "created_by": sweep.created_by,
        "version": sweep.version,
    }
