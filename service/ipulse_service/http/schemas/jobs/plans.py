"""The plan of a job, as the API returns it."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from ipulse_service.http.schemas.base import JOB_ID, SHA256, SPEC, example
from ipulse_service.http.schemas.jobs.job_parts import WaitingInfo
from ipulse_service.http.schemas.jobs.validated_spec import FIT, FitInfo, ValidatedSpec
from ipulse_service.jobs.queue.waiting import JobPlan
from ipulse_service.jobs.submission import ResolvedSpec


class PlannedJob(ValidatedSpec):
    """A spec that a submission would accept, and what its job would wait for."""

    model_config = example(
        valid=True,
        spec=SPEC,
        spec_sha256=SHA256,
        fit=FIT,
        data_set="shd/shd",
        agents=2,
        agents_with_device=2,
        agents_with_data=2,
        able_agents=2,
        usual_seconds=64.2,
        waiting_on={
            "reason": "device_busy",
            "detail": "",
            "position": 2,
            "of": 2,
            "holder": JOB_ID,
            "holder_device": "cpu",
            "estimated_start": "2026-01-31T12:01:00.000Z",
        },
    )

    data_set: str | None = Field(
        description="KIND/NAME of the files that a worker must have; null if the worker makes them."
    )
    agents: int = Field(description="Agents that are present.")
    agents_with_device: int = Field(description="Of these, agents with the kind of device.")
    agents_with_data: int = Field(description="Of those, agents with the data set.")
    able_agents: int = Field(description="Of those, agents with enough devices and all labels.")
    usual_seconds: float | None = Field(
        description="Median time with an agent of the latest successful jobs of this kind and "
        "number of devices; null without at least three."
    )
    waiting_on: WaitingInfo

    @classmethod
    def from_plan(cls, resolved: ResolvedSpec, data_set: str | None, plan: JobPlan) -> Self:
        """Returns the model of a plan."""
        return cls(
            spec=resolved.value,
            spec_sha256=resolved.sha256,
            fit=FitInfo.of_spec(resolved.spec),
            data_set=data_set,
            agents=plan.agents,
            agents_with_device=plan.with_device,
            agents_with_data=plan.with_data,
            able_agents=plan.able,
            usual_seconds=None if plan.usual_ms is None else plan.usual_ms / 1000,
            waiting_on=WaitingInfo.from_waiting(plan.waiting),
        )
