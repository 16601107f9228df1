"""Route that compares the profiles of two jobs."""

from __future__ import annotations

import json
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ipulse_core.errors import NotFound, Problem
from ipulse_core.pva.difference import ProfileDifference, unlike_targets
from ipulse_core.pva.job_difference import JobDifference
from ipulse_core.pva.report import InvalidReport, Report
from ipulse_service.files import artifacts
from ipulse_service.files.artifacts import ArtifactRow
from ipulse_service.files.blob_reader import BlobReader
from ipulse_service.http import problems
from ipulse_service.http.dependencies import State
from ipulse_service.http.schemas.base import JOB_ID
from ipulse_service.http.schemas.jobs.profiles import ProfileCopies, ProfileDiff
from ipulse_service.http.state import AppState
from ipulse_service.jobs import store
from ipulse_service.jobs.job import JobRow

MAX_PROFILE_BYTES = 64 * 1024**2

_OTHER_FORM = "a profile has another form than this version writes"

router = APIRouter(prefix="/v1", tags=["artifacts"])


class DiffQuery(BaseModel):
    """Query parameters of a difference of profiles."""

    model_config = ConfigDict(extra="forbid")

    a: str = Field(max_length=64, description="Id of the job that is the baseline.")
    b: str = Field(max_length=64, description="Id of the other job.", examples=[JOB_ID])


class CopiesQuery(BaseModel):
    """Query parameters of the copies of a profile."""

    model_config = ConfigDict(extra="forbid")

    job: str = Field(max_length=64, description="Id of the job.", examples=[JOB_ID])


class _Profiles(NamedTuple):
    """A job, its profile.json, and its poplar_profile.json or None."""

    job: JobRow
    profile: Any
    tiles: Any


@router.get(
    "/profiles:diff",
    summary="Compare the profiles of two jobs",
    response_description="The differences.",
    responses=problems.documented(404, 422),
)
async def diff_profiles(query: Annotated[DiffQuery, Query()], state: State) -> ProfileDiff:
    """Compares the time and memory of two jobs, and their tiles if both are on emulator or IPU."""
    before, after = [
        await run_in_threadpool(_profiles, state, name, job_id)
        for name, job_id in (("a", query.a), ("b", query.b))
    ]
    return await run_in_threadpool(_diff, before, after)


@router.get(
    "/profiles:copies",
    summary="Sum the copies between host and device",
    response_description="The sums.",
    responses=problems.documented(404, 422),
)
async def sum_copies(query: Annotated[CopiesQuery, Query()], state: State) -> ProfileCopies:
    """Sums the copies between host and device of a job on emulator or IPU by direction."""
    return await run_in_threadpool(_copies, state, query.job)


def _copies(state: AppState, job_id: str) -> ProfileCopies:
    tiles = _files(state, job_id)[1].get("poplar_profile")
    if tiles is None:
        raise NotFound(f"{job_id} has no profile of tiles")
    try:
        report = Report(_document(state, "job", tiles))
        return ProfileCopies.of(report.execution.host_copies if report.has_run else [])
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise _unreadable(_OTHER_FORM, "job") from error


def _diff(before: _Profiles, after: _Profiles) -> ProfileDiff:
    tiles, unlike, liveness = None, [], None
    try:
        times = JobDifference(before.profile, after.profile)
        if before.tiles is not None and after.tiles is not None:
            reports = Report(before.tiles), Report(after.tiles)
            unlike = unlike_targets(*reports)
            tiles = ProfileDifference(*reports)
            liveness = tuple(_liveness(report) for report in reports)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise _unreadable(_OTHER_FORM, "a") from error
    return ProfileDiff.of(before.job, after.job, times, unlike, tiles, liveness)


def _liveness(report: Any) -> list[int]:
    """Returns the bytes that are not always live, by step of the program."""
    steps = report.compilation.livenessProgramSteps
    return [step.notAlwaysLiveMemory.bytes for step in steps]


def _profiles(state: AppState, name: str, job_id: str) -> _Profiles:
    """Returns the profiles of a job. Raises NotFound or InvalidReport."""
    job, by_role = _files(state, job_id)
    if "profile" not in by_role:
        raise NotFound(f"{job.id} has no profile; it is written when a training ends")
    profile = _document(state, name, by_role["profile"])
    tiles = by_role.get("poplar_profile")
    return _Profiles(job, profile, None if tiles is None else _document(state, name, tiles))


def _files(state: AppState, job_id: str) -> tuple[JobRow, dict[str, ArtifactRow]]:
    """Returns a job and its JSON files by their roles."""
    with state.database.read() as transaction:
        job = store.get_named(transaction, job_id)
        files = artifacts.official(transaction, job)
    return job, {file.role: file for file in files if file.name.endswith(".json")}


def _document(state: AppState, name: str, file: ArtifactRow) -> Any:
    if file.size > MAX_PROFILE_BYTES:
        limit = MAX_PROFILE_BYTES // 1024**2
        raise _unreadable(f"{file.name} is larger than {limit} MiB: compare it offline", name)
    reader = BlobReader(
        lambda: state.blobs.open_checked(file.sha256, file.size, 0, file.size), file.size
    )
    try:
        chunks = [reader.begin()]
        while chunks[-1]:
            chunks.append(reader.read())
        return json.loads(b"".join(chunks))
    except (ValueError, RecursionError) as error:
        raise _unreadable(f"{file.name} is not a JSON document", name) from error
    finally:
        reader.close()


def _unreadable(detail: str, name: str) -> InvalidReport:
    return InvalidReport([Problem(f"/query/{name}", "unreadable_profile", detail)])
