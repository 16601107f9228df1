"""The plan of a sweep, as the API returns it."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, Field

from ipulse_service.http.schemas.base import example
from ipulse_service.http.schemas.jobs.job_parts import WaitingInfo
from ipulse_service.http.schemas.jobs.plans import (
    ABOUT_CACHED,
    EXPECTED,
    WAITING,
    ExpectedDuration,
)
from ipulse_service.http.schemas.quotas import QuotaInfo
from ipulse_service.sweeps.planning import SweepPlan


class PlannedSweep(BaseModel):
    """A sweep that the service would accept, and what it would take."""

    model_config = example(
        valid=True,
        trials=12,
        jobs=36,
        parallel=4,
        able_agents=4,
        expected_job=EXPECTED,
        expected_devices={**EXPECTED, "seconds": 2196.0},
        expected_seconds=549.0,
        executable_cached=True,
        waiting_on=WAITING,
        quotas=[{"project": "vision", "user": "alice", "name": "devices", "limit": 4, "used": 1}],
    )

    valid: Literal[True] = True
    trials: int
    jobs: int = Field(description="One of each seed of each trial.")
    parallel: int = Field(description="Jobs at the same time, as far as present agents can.")
    able_agents: int = Field(description="Present agents that can run the first trial.")
    expected_job: ExpectedDuration | None = Field(
        description="Time of a job with an agent, the mean over some trials; null without a basis."
    )
    expected_devices: ExpectedDuration | None = Field(
        description="Time with agents of all jobs together, if none is stopped early."
    )
    expected_seconds: float | None = Field(
        description="From the start of the first job to the end of the last, if nothing else runs."
    )
    executable_cached: bool | None = Field(description=f"Of the first job. {ABOUT_CACHED}")
    waiting_on: WaitingInfo = Field(description="Of the first job.")
    quotas: list[QuotaInfo] = Field(description="Quotas of the project and the caller.")

    @classmethod
    def of(cls, plan: SweepPlan, quotas: list[QuotaInfo]) -> Self:
        """Returns the model of a plan."""
        of_job = plan.of_job
        return cls(
            trials=plan.trials,
            jobs=plan.jobs,
            parallel=plan.parallel,
            able_agents=plan.first.able,
            expected_job=ExpectedDuration.of(of_job),
            expected_devices=ExpectedDuration.of(of_job, plan.jobs),
            expected_seconds=None if of_job is None else plan.rounds * of_job.ms / 1000,
            executable_cached=plan.is_cached,
            waiting_on=WaitingInfo.from_waiting(plan.first.waiting),
            quotas=quotas,
        )
