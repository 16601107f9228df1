"""Routes of the verbs of jobs, from one table: each for one job, and for all that pass a filter."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from inspect import cleandoc
from typing import Any

from fastapi import APIRouter

from ipulse_core.states import PAUSABLE, JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.http import problems
from ipulse_service.http.caller import Caller
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.retrying import retry_by
from ipulse_service.http.routes.jobs.job_batches import CHECKED, Selection, change_all
from ipulse_service.http.routes.jobs.jobs import CHANGE, Changer
from ipulse_service.http.schemas.jobs.job_list import BatchSummary
from ipulse_service.http.schemas.jobs.jobs import JobDetail
from ipulse_service.http.state import AppState
from ipulse_service.jobs import attempts, batches, finishing
from ipulse_service.jobs.batches import Change
from ipulse_service.jobs.job import JobRow

JobChange = Callable[[Transaction, JobRow], JobRow]


@dataclass(frozen=True)
class Verb:
    """A change of jobs without a body."""

    name: str  # the last part of both paths
    summary: str  # of the route of one job
    about: str
    about_many: str
    done: str  # "How many jobs were ..."
    change: Callable[[AppState, Caller], JobChange]
    states: Collection[JobState] = ()  # of jobs that it changes
    change_many: Callable[[AppState, Caller], Change] | None = None  # where states are not enough
    errors: tuple[int, ...] = ()  # of one job, beside those of each change


def _each(change: JobChange) -> Callable[[AppState, Caller], JobChange]:
    """Returns a change that depends neither on settings nor on the caller."""
    return lambda state, caller: change


VERBS = (
    Verb(
        "cancel",
        "Cancel a job",
        "Asks a job to stop. A second request, or one after the job's end, changes nothing.",
        """Cancels all jobs that pass the filters; those that have ended do not change.

        A request works for a few seconds. If jobs remain, repeat it. Send the `as_of` of a dry
        run as `created_before`, so that no job is changed that was not counted.
        """,
        "cancelled",
        _each(attempts.cancel),
        change_many=lambda state, caller: batches.CANCEL,
    ),
    Verb(
        "finish",
        "Finish a job now",
        """Ends the training after its present step, evaluates it and stores all results.

        The job then is succeeded with the reason `finished_early`. It is cancelled if that takes
        longer than IPULSE_FINISH_SECONDS. A second request, or one after the job's end, changes
        nothing; 409 for a job that no agent holds.
        """,
        """Ends the training of all running jobs that pass the filters, and keeps their results.

        See `POST /v1/jobs/{job_id}/finish` and `jobs:cancel`.
        """,
        "asked to finish",
        lambda state, caller: partial(finishing.finish, settings=state.settings),
        change_many=lambda state, caller: batches.finish(state.settings),
    ),
    Verb(
        "pause",
        "Pause a job",
        "Pauses a job; one that runs stops at its next checkpoint. It loses its queue position.",
        "Pauses all jobs that pass the filters; see `jobs:cancel`.",
        "paused",
        _each(attempts.pause),
        PAUSABLE,
    ),
    Verb(
        "resume",
        "Resume a job",
        "Queues a paused job again. It continues from its last checkpoint.",
        "Resumes all paused jobs that pass the filters; see `jobs:cancel`.",
        "resumed",
        _each(attempts.resume),
        {JobState.PAUSED},
    ),
    Verb(
        "retry",
        "Retry a job",
        """Queues a failed job again under its id. It resumes from its last checkpoint, if any.

        Its events continue, and lost attempts and limits of time count anew. Jobs that were
        cancelled only because of its failure are blocked again, and its trial of a sweep runs
        again. A job that has not ended does not change; 409 for one that succeeded or was
        cancelled, and 422 if no agent can run it any more. A job with code needs the right to
        submit code; without it, jobs with code that waited for this one stay cancelled, and its
        `message` names them.
        """,
        """Retries all failed jobs that pass the filters.

        See `POST /v1/jobs/{job_id}/retry` and `jobs:cancel`.
        """,
        "retried",
        lambda state, caller: retry_by(caller),
        change_many=lambda state, caller: batches.retry_each(retry_by(caller)),
        errors=(422,),
    ),
)

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=JSONRoute)


def _add(verb: Verb) -> None:
    def change_one(changer: Changer, caller: CurrentCaller) -> JobDetail:
        return changer.apply(verb.change(changer.state, caller))

    async def change_many(query: Selection, state: State, caller: CurrentCaller) -> BatchSummary:
        if verb.change_many:
            change = verb.change_many(state, caller)
        else:
            change = batches.each_in(verb.states, verb.change(state, caller))
        return await change_all(query, state, change)

    one: dict[str, Any] = {**CHANGE}
    if verb.errors:
        one["responses"] = {**CHANGE["responses"], **problems.documented(*verb.errors)}
    router.add_api_route(
        f"/jobs/{{job_id}}/{verb.name}",
        change_one,
        methods=["POST"],
        name=f"{verb.name}_job",
        summary=verb.summary,
        description=cleandoc(verb.about),
        **one,
    )
    router.add_api_route(
        f"/jobs:{verb.name}",
        change_many,
        methods=["POST"],
        name=f"{verb.name}_jobs",
        summary=f"{verb.name.capitalize()} jobs",
        description=cleandoc(verb.about_many),
        response_description=f"How many jobs were {verb.done}.",
        **CHECKED,
    )


for _verb in VERBS:
    _add(_verb)
