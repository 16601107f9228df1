"""Route that compares the profiles of two jobs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ipulse_core.errors import NotFound, Problem
from ipulse_core.pva.report import InvalidReport
from ipulse_service.files.stored import ArtifactRow
from ipulse_service.http import problems
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.schemas.base import JOB_ID
from ipulse_service.http.schemas.jobs.profiles import ProfileCopies, ProfileDiff, ProfiledJob
from ipulse_service.http.state import AppState
from ipulse_service.jobs import artifacts, store
from ipulse_service.jobs.job import JobRow
from ipulse_service.reading.reader import PROFILES, Unreadable

MAX_PROFILE_BYTES = 64 * 1024**2

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
    profile: ArtifactRow
    tiles: ArtifactRow | None


@router.get(
    "/profiles:diff",
    summary="Compare the profiles of two jobs",
    response_description="The differences.",
    responses=problems.documented(404, 422),
)
async def diff_profiles(
    query: Annotated[DiffQuery, Query()], state: State, caller: CurrentCaller
) -> ProfileDiff:
    """Compares the time and memory of two jobs, and their tiles if both are on emulator or IPU."""
    before, after = [
        await run_in_threadpool(_profiles, state, name, job_id)
        for name, job_id in (("a", query.a), ("b", query.b))
    ]
    return await state.reader.in_turn(caller.name, _diff, state, before, after)


@router.get(
    "/profiles:copies",
    summary="Sum the copies between host and device",
    response_description="The sums.",
    responses=problems.documented(404, 422),
)
async def sum_copies(
    query: Annotated[CopiesQuery, Query()], state: State, caller: CurrentCaller
) -> ProfileCopies:
    """Sums the copies between host and device of a job on emulator or IPU by direction."""
    tiles = await run_in_threadpool(_tiles, state, query.job)
    return await state.reader.in_turn(caller.name, _copies, state, tiles)


def _tiles(state: AppState, job_id: str) -> ArtifactRow:
    tiles = _files(state, job_id)[1].get("poplar_profile")
    if tiles is None:
        raise NotFound(f"{job_id} has no profile of tiles")
    _check_size(tiles, "job")
    return tiles


def _copies(state: AppState, tiles: ArtifactRow) -> ProfileCopies:
    return ProfileCopies.model_validate(_read(state, "copies", "job", [tiles]))


def _diff(state: AppState, before: _Profiles, after: _Profiles) -> ProfileDiff:
    files = [before.profile, after.profile]
    if before.tiles is not None and after.tiles is not None:
        files += [before.tiles, after.tiles]
    found = _read(state, "diff", "a", files)
    return ProfileDiff(a=ProfiledJob.of(before.job), b=ProfiledJob.of(after.job), **found)


def _read(state: AppState, kind: str, name: str, files: Sequence[ArtifactRow]) -> dict[str, Any]:
    with ExitStack() as stack:
        paths = [stack.enter_context(state.blobs.as_file(file.sha256)) for file in files]
        try:
            return state.reader.read(PROFILES, [kind, *paths])
        except Unreadable as error:
            raise _unreadable(f"{error.detail}: compare offline", name) from error


def _profiles(state: AppState, name: str, job_id: str) -> _Profiles:
    """Returns the profiles of a job. Raises NotFound or InvalidReport."""
    job, by_role = _files(state, job_id)
    if "profile" not in by_role:
        raise NotFound(f"{job.id} has no profile; it is written when a training ends")
    found = _Profiles(job, by_role["profile"], by_role.get("poplar_profile"))
    _check_size(found.profile, name)
    if found.tiles is not None:
        _check_size(found.tiles, name)
    return found


def _files(state: AppState, job_id: str) -> tuple[JobRow, dict[str, ArtifactRow]]:
    """Returns a job and its JSON files by their roles."""
    with state.database.read() as transaction:
        job = store.get_named(transaction, job_id)
        files = artifacts.official(transaction, job)
    return job, {file.role: file for file in files if file.name.endswith(".json")}


def _check_size(file: ArtifactRow, name: str) -> None:
    if file.size > MAX_PROFILE_BYTES:
        limit = MAX_PROFILE_BYTES // 1024**2
        raise _unreadable(f"{file.name} is larger than {limit} MiB: compare it offline", name)


def _unreadable(detail: str, name: str) -> InvalidReport:
    return InvalidReport([Problem(f"/query/{name}", "unreadable_profile", detail)])
