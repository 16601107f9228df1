"""Routes of sweeps: create, list and read them and their trials."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from ipulse.idempotency import check_key
from ipulse.sweeps import SweepConfig
from ipulse.sweeps.config import InvalidSweep
from ipulse_service.db.engine import Transaction
from ipulse_service.http import etags, pagination, problems
from ipulse_service.http.dependencies import DIGITS, CurrentCaller, State
from ipulse_service.http.pagination import DEFAULT_PAGE, MAX_PAGE
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.responses import REPLAY_HEADERS, mark_replay
from ipulse_service.http.schemas.sweeps.sweeps import SweepDetail, SweepInfo, SweepList
from ipulse_service.http.schemas.sweeps.trials import TrialInfo, TrialList
from ipulse_service.http.state import AppState
from ipulse_service.quotas import usage
from ipulse_service.sweeps import code_rights, creation, store, trial_store
from ipulse_service.sweeps.rows import SweepRow, TrialRow

SweepId = Annotated[str, Path(max_length=64, description="The sweep's id.")]


class SweepRoute(JSONRoute):
    """A route that takes the definition of a sweep."""

    error = InvalidSweep


class SweepQuery(BaseModel):
    """Query parameters of the list of sweeps."""

    model_config = ConfigDict(extra="forbid")

    page_size: Annotated[int, Field(ge=0), DIGITS] = Field(
        default=0, description=f"0 means {DEFAULT_PAGE}; at most {MAX_PAGE} are returned."
    )
    page_token: str = Field(
        default="", max_length=256, description="The `next_page_token` of the previous page."
    )


class TrialQuery(BaseModel):
    """Query parameters of the list of trials."""

    model_config = ConfigDict(extra="forbid")

    after: Annotated[int, Field(ge=0, le=10**6), DIGITS] = Field(
        default=0, description="Only trials with greater numbers."
    )
    page_size: Annotated[int, Field(ge=0), DIGITS] = Field(
        default=0, description=f"0 means {MAX_PAGE}, which is also the most."
    )


router = APIRouter(prefix="/v1/sweeps", tags=["sweeps"], route_class=SweepRoute)


@router.post(
    "",
    status_code=201,
    summary="Create a sweep",
    response_description="The sweep is stored, and its trials begin.",
    responses={201: {"headers": REPLAY_HEADERS}, **problems.documented(409, 413, 415, 422)},
)
def create_sweep(
    config: SweepConfig,
    state: State,
    caller: CurrentCaller,
    response: Response,
    idempotency_key: Annotated[
        str | None, Header(description="Makes a repeated request return the same sweep.")
    ] = None,
) -> SweepDetail:
    """Creates a sweep. Every trial of a grid is checked before, as far as 32 MiB of specs go.

    The trials are submitted as jobs, so many at the same time as `parallel` says. The group of
    these jobs is the id of the sweep. Custom ops need the role
    developer and a token with the scope `code`.
    """
    if code_rights.names_op(config):
        caller.access.check_submits_code(caller.access.project)
    key = None if idempotency_key is None else check_key(idempotency_key)
    created = creation.create(state.database, config, caller.name, key)
    mark_replay(response, created.replay)
    response.headers["location"] = f"/v1/sweeps/{created.sweep.id}"
    return detail(state, created.sweep.id, response)


@router.get("", summary="List sweeps", response_description="One page of sweeps.")
def list_sweeps(query: Annotated[SweepQuery, Query()], state: State) -> SweepList:
    """Returns sweeps, newest first."""
    before = pagination.decode(query.page_token, "sweeps") if query.page_token else None
    size = min(query.page_size, MAX_PAGE) or DEFAULT_PAGE
    with state.database.read() as transaction:
        page = store.page(transaction, before, size + 1)
        counts = trial_store.trial_counts(transaction, [sweep.pk for sweep in page[:size]])
        listed = [
            SweepInfo.from_rows(sweep, counts[sweep.pk], _best(transaction, sweep))
            for sweep in page[:size]
        ]
    is_last = len(page) <= size
    token = "" if is_last else pagination.encode(page[size - 1].pk, "sweeps")
    return SweepList(sweeps=listed, next_page_token=token)


@router.get(
    "/{sweep_id}",
    summary="Get a sweep",
    response_description="The sweep.",
    responses=problems.documented(404),
)
def get_sweep(sweep_id: SweepId, state: State, response: Response) -> SweepDetail:
    """Returns a sweep with its definition, its best trial, and what it cost so far."""
    return detail(state, sweep_id, response)


@router.get(
    "/{sweep_id}/trials",
    summary="List the trials of a sweep",
    response_description="One page of trials.",
    responses=problems.documented(404),
)
def list_trials(
    sweep_id: SweepId, query: Annotated[TrialQuery, Query()], state: State
) -> TrialList:
    """Returns the trials that have begun, in order, with their jobs and figures."""
    size = min(query.page_size, MAX_PAGE) or MAX_PAGE
    with state.database.read() as transaction:
        sweep = store.get(transaction, sweep_id)
        page = trial_store.trials_after(transaction, sweep, query.after, size + 1)
        jobs = trial_store.jobs_of(transaction, page[:size])
    trials = [TrialInfo.from_rows(trial, jobs[trial.pk]) for trial in page[:size]]
    return TrialList(trials=trials, next_after=trials[-1].number if len(page) > size else None)


def detail(state: AppState, sweep_id: str, response: Response) -> SweepDetail:
    """Returns a sweep and sets its ETag."""
    with state.database.read() as transaction:
        sweep = store.get(transaction, sweep_id)
        counts = trial_store.trial_counts(transaction, [sweep.pk])[sweep.pk]
        best = _best(transaction, sweep)
        jobs = trial_store.job_counts(transaction, sweep)
        run_ms = trial_store.run_ms(transaction, sweep)
        cost = usage.of_sweep(transaction, sweep.pk)
    response.headers["etag"] = etags.quoted(sweep.tag)
    return SweepDetail.of(sweep, state.database.access, counts, best, jobs, run_ms, cost)


def _best(transaction: Transaction, sweep: SweepRow) -> TrialRow | None:
    return trial_store.best(transaction, sweep, sweep.definition.objective.goal)
