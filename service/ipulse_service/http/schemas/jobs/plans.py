"""The plan of a job, as the API returns it."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from ipulse.spec import AnySpec, brief_json
from ipulse_core.prediction.network_on_tiles import TOO_FEW_TILES, why_no_memory
from ipulse_core.prediction.step_cycles import why_no_cycles
from ipulse_core.registry.versions import raise_to_2
from ipulse_service.http.schemas.base import BRIEF_SPEC, JOB_ID, SHA256, SPEC, example
from ipulse_service.http.schemas.jobs.job_parts import WaitingInfo
from ipulse_service.http.schemas.jobs.step_cycles import CYCLES, StepCyclesInfo
from ipulse_service.http.schemas.jobs.validated_spec import (
    FIT,
    NIR_TARGETS,
    FitInfo,
    ValidatedSpec,
    nir_targets_of,
)
from ipulse_service.http.schemas.quotas import QuotaInfo
from ipulse_service.jobs.queue.durations import Expected
from ipulse_service.jobs.queue.waiting import JobPlan
from ipulse_service.jobs.submission import ResolvedSpec

WAITING: dict[str, Any] = {
    "reason": "device_busy",
    "detail": "",
    "position": 2,
    "of": 2,
    "holder": JOB_ID,
    "holder_device": "cpu",
    "estimated_start": "2026-01-31T12:01:00.000Z",
}
EXPECTED: dict[str, Any] = {
    "seconds": 61.0,
    "least_seconds": 42.5,
    "most_seconds": 88.0,
    "basis": "work",
    "jobs": 7,
}
ABOUT_CACHED = (
    "Whether a machine that can run it compiled the same program for one of the latest successful "
    "jobs that the caller may see, so that it is in the machine's cache unless that was pruned; "
    "null: nothing is compiled."
)


class ExpectedDuration(BaseModel):
    """How long a job, or all jobs of a sweep together, are expected to be with agents."""

    model_config = example(**EXPECTED)

    seconds: float
    least_seconds: float
    most_seconds: float
    basis: Literal["like_jobs", "work"] = Field(
        description="like_jobs: three or more that did the same work took so long; work: others "
        "did so much work in a second on such a device, by the sizes in their specs."
    )
    jobs: int = Field(description="Successful jobs from which it was taken.")

    @classmethod
    def of(cls, found: Expected | None, times: float = 1) -> Self | None:
        """Returns the model of an expected time of so many jobs, if there is one."""
        if found is None:
            return None
        return cls(
            seconds=times * found.ms / 1000,
            least_seconds=times * found.least_ms / 1000,
            most_seconds=times * found.most_ms / 1000,
            basis=found.basis,
            jobs=found.jobs,
        )


class NotPredicted(BaseModel):
    """Why figures of a plan are null that a job on emulated IPUs or IPUs may have."""

    model_config = example(fit=None, cycles="constants of neurons are trained")

    fit: str | None = Field(description="Why `fit` is; null if it is not, and for a CPU.")
    cycles: str | None = Field(description="Why `cycles` is; null if it is not, and for a CPU.")

    @classmethod
    def of(cls, spec: AnySpec, fit: FitInfo | None, cycles: StepCyclesInfo | None) -> Self:
        """Returns the reasons for a spec and what is predicted for it."""
        if spec.device.kind == "cpu":
            return cls(fit=None, cycles=None)
        return cls(
            fit=None if fit else why_no_memory(spec) or TOO_FEW_TILES,
            cycles=None if cycles else why_no_cycles(spec) or TOO_FEW_TILES,
        )


class PlannedJob(ValidatedSpec):
    """A spec that a submission would accept, and what its job would wait for."""

    model_config = example(
        valid=True,
        spec=SPEC,
        spec_version_2=raise_to_2(SPEC),
        brief=BRIEF_SPEC,
        spec_sha256=SHA256,
        fit=FIT,
        nir_targets=NIR_TARGETS,
        data_set="shd/shd",
        agents=2,
        agents_with_device=2,
        agents_with_data=2,
        able_agents=2,
        usual_seconds=64.2,
        expected=EXPECTED,
        executable_cached=None,
        waiting_on=WAITING,
        quotas=[{"project": "vision", "user": "alice", "name": "devices", "limit": 4, "used": 1}],
        cycles=CYCLES,
        not_predicted={"fit": None, "cycles": None},
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
    expected: ExpectedDuration | None = Field(
        description="Time with an agent, by the work of this spec, if it is not stopped early; "
        "null without a successful job on this kind and number of devices, and for data whose "
        "size is not known."
    )
    executable_cached: bool | None = Field(description=ABOUT_CACHED)
    waiting_on: WaitingInfo
    quotas: list[QuotaInfo] = Field(description="Quotas of the project and the caller.")
    cycles: StepCyclesInfo | None = Field(
        description="Expected cycles of a training step on emulator or IPU; null for a CPU, and "
        "for what is not predicted."
    )
    not_predicted: NotPredicted

    @classmethod
    def from_plan(
        cls,
        resolved: ResolvedSpec,
        data_set: str | None,
        plan: JobPlan,
        is_cached: bool | None,
        quotas: list[QuotaInfo],
        cycles: StepCyclesInfo | None,
    ) -> Self:
        """Returns the model of a plan."""
        fit = FitInfo.of_spec(resolved.spec)
        return cls(
            spec=resolved.value,
            spec_version_2=raise_to_2(resolved.value),
            brief=brief_json(resolved.value),
            spec_sha256=resolved.sha256,
            fit=fit,
            nir_targets=nir_targets_of(resolved.spec),
            data_set=data_set,
            agents=plan.agents,
            agents_with_device=plan.with_device,
            agents_with_data=plan.with_data,
            able_agents=plan.able,
            usual_seconds=None if plan.usual_ms is None else plan.usual_ms / 1000,
            expected=ExpectedDuration.of(plan.expected),
            executable_cached=is_cached,
            waiting_on=WaitingInfo.from_waiting(plan.waiting),
            quotas=quotas,
            cycles=cycles,
            not_predicted=NotPredicted.of(resolved.spec, fit, cycles),
        )
