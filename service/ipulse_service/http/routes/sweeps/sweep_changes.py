"""Routes that change sweeps: pause, resume, stop and extend them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from ipulse.sweeps import RunningJobs
from ipulse.sweeps.config import MAX_TRIALS
from ipulse_service.db.engine import Transaction
from ipulse_service.http import etags, problems
from ipulse_service.http.dependencies import DIGITS, CurrentCaller, IfMatch, State
from ipulse_service.http.routes.sweeps.sweeps import SweepId, SweepRoute, detail
from ipulse_service.http.schemas.sweeps.sweeps import SweepChange, SweepDetail
from ipulse_service.http.state import AppState
from ipulse_service.sweeps import changes, code_rights, limits, repeats, store
from ipulse_service.sweeps.growth import SweepGrowth
from ipulse_service.sweeps.rows import SweepRow

_CHANGE_ERRORS = problems.documented(404, 409, 412)
_CHANGE: dict[str, Any] = {"response_description": "The sweep.", "responses": _CHANGE_ERRORS}


class StopQuery(BaseModel):
    """Query parameters of a stop."""

    model_config = ConfigDict(extra="forbid")

    running: RunningJobs = Field(
        default="keep",
        description="Jobs that run: keep them to their end, finish them now with their results, "
        "or cancel them.",
    )


class RetryQuery(BaseModel):
    """Query parameters of a retry; without any, failed jobs are repeated."""

    model_config = ConfigDict(extra="forbid")

    failed: bool = Field(default=False, description="Repeat the jobs that failed.")
    deleted: bool = Field(default=False, description="Repeat the jobs that were deleted.")
    trial: list[Annotated[int, Field(ge=1, le=MAX_TRIALS), DIGITS]] = Field(
        default=[],
        max_length=1000,
        description="Repeat what failed, was cancelled or was deleted of this trial; may be "
        "repeated.",
    )


@dataclass(frozen=True)
class SweepChanger:
    """A request that changes a sweep."""

    state: AppState
    sweep_id: str
    if_match: str | None
    response: Response

    def apply(self, change: Callable[[Transaction, SweepRow], SweepRow]) -> SweepDetail:
        """Changes the sweep if it still has the ETag of If-Match, and returns it."""
        with self.state.database.write() as transaction:
            sweep = store.get_to_change(transaction, self.sweep_id)
            etags.require(self.if_match, sweep.tag)
            change(transaction, sweep)
        return detail(self.state, self.sweep_id, self.response)


async def _changer(
    sweep_id: SweepId, state: State, response: Response, if_match: IfMatch = None
) -> SweepChanger:
    return SweepChanger(state, sweep_id, if_match, response)


Changer = Annotated[SweepChanger, Depends(_changer)]

router = APIRouter(prefix="/v1/sweeps", tags=["sweeps"], route_class=SweepRoute)


@router.post("/{sweep_id}/pause", summary="Pause a sweep", **_CHANGE)
def pause_sweep(changer: Changer) -> SweepDetail:
    """Begins no more trials until the sweep is resumed; those that have begun continue."""
    return changer.apply(changes.pause)


@router.post("/{sweep_id}/resume", summary="Resume a sweep", **_CHANGE)
def resume_sweep(changer: Changer) -> SweepDetail:
    """Lets a paused sweep begin trials again."""
    return changer.apply(changes.resume)


@router.post("/{sweep_id}/stop", summary="Stop a sweep", **_CHANGE)
def stop_sweep(query: Annotated[StopQuery, Query()], changer: Changer) -> SweepDetail:
    """Begins no more trials and cancels queued jobs. The sweep ends when the others have ended."""
    settings = changer.state.settings
    return changer.apply(partial(changes.stop, running=query.running, settings=settings))


@router.post(
    "/{sweep_id}/retry",
    summary="Repeat a part of a sweep",
    response_description="The sweep.",
    responses={**_CHANGE_ERRORS, **problems.documented(422)},
)
def retry_sweep(
    query: Annotated[RetryQuery, Query()], changer: Changer, caller: CurrentCaller
) -> SweepDetail:
    """Repeats jobs of trials under their numbers; a sweep that has ended waits for them.

    A job that failed is retried under its id, from its last checkpoint. Another job takes the place
    of one that was cancelled or deleted. Failed trials get jobs of seeds that the sweep got since.
    A sweep that ended before all its trials had begun does not begin the others.
    """
    with changer.state.database.read() as transaction:
        sweep = store.get_to_change(transaction, changer.sweep_id)
    if code_rights.names_op(sweep.definition):
        caller.access.check_submits_code(sweep.project)
    is_default = not (query.failed or query.deleted or query.trial)
    repeat = partial(
        repeats.repeat,
        failed=query.failed or is_default,
        deleted=query.deleted,
        numbers=query.trial,
    )
    return changer.apply(repeat)


@router.patch(
    "/{sweep_id}",
    summary="Extend a sweep",
    response_description="The sweep.",
    responses={**_CHANGE_ERRORS, **problems.documented(413, 415, 422)},
)
def change_sweep(request: SweepChange, changer: Changer, caller: CurrentCaller) -> SweepDetail:
    """Changes the number of trials, or of those at the same time, or adds values and seeds.

    A sweep that has ended continues if more trials, values, seeds or other limits are given, and
    409 `limit_reached` says that a limit would end it again at once. Values and seeds are checked
    as at the creation; custom ops need the role developer and a token with the scope `code`.
    """
    with changer.state.database.read() as transaction:
        sweep = store.get_to_change(transaction, changer.sweep_id)
    if code_rights.names_op(sweep.definition, request.values):
        caller.access.check_submits_code(sweep.project)
    growth = None
    has_limits = request.limits is not None
    if request.values or request.seeds or has_limits:
        growth = SweepGrowth.of(
            changer.state.database,
            changer.sweep_id,
            request.values,
            request.seeds,
            request.limits,
        )

    def extend(transaction: Transaction, before: SweepRow) -> SweepRow:
        sweep = before if growth is None else growth.apply(transaction, before)
        if growth is None or has_limits or request.parallel or request.trials:
            sweep = changes.extend(
                transaction, sweep, request.trials, request.parallel, goes_on=has_limits
            )
        limits.check_continued(transaction, before, sweep)
        return sweep

    return changer.apply(extend)


@router.delete(
    "/{sweep_id}",
    status_code=204,
    summary="Delete a sweep",
    response_description="The sweep is deleted.",
    responses=_CHANGE_ERRORS,
)
def delete_sweep(sweep_id: SweepId, state: State, if_match: IfMatch = None) -> None:
    """Deletes a sweep that has ended, with its trials. Its jobs stay, in the group of its id."""
    with state.database.write() as transaction:
        sweep = store.get_to_change(transaction, sweep_id)
        etags.require(if_match, sweep.tag)
        store.remove(transaction, sweep)
