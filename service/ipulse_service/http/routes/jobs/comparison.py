"""Route that compares jobs."""

from __future__ import annotations

from fastapi import APIRouter

from ipulse_service.db.engine import Transaction
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.dependencies import State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.jobs.comparison import ComparisonInfo
from ipulse_service.http.schemas.jobs.comparison_body import MAX_COMPARED, ComparisonBody
from ipulse_service.jobs import store
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.search import search
from ipulse_service.jobs.search.comparison import compare
from ipulse_service.jobs.search.filters import JobFilter
from ipulse_service.jobs.search.syntax import parse
from ipulse_service.jobs.search.terms import InvalidQuery, in_body
from ipulse_service.jobs.search.values import zone_of
from ipulse_service.jobs.search.vocabulary import Vocabulary

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=JSONRoute)


@router.post(
    "/jobs:compare",
    summary="Compare jobs",
    response_description="The jobs, what differs, and figures of groups.",
    responses=problems.documented(404, 413, 415, 422),
)
@open_to("user", "reader")
def compare_jobs(request: ComparisonBody, state: State) -> ComparisonInfo:
    """Compares up to 1,000 jobs: the settings that differ, metrics, and figures of groups.

    Jobs of a group have equal values of `group_by`; by default they differ in the seed only. A
    query that finds more jobs compares the newest ones, and `total` is the number of all.
    """
    with state.database.read() as transaction:
        try:
            total, rows = _jobs(transaction, request)
        except InvalidQuery as error:
            raise in_body(error) from None
        found = compare(transaction, Vocabulary(transaction), rows, request.names())
    return ComparisonInfo.of(total, rows, found)


def _jobs(transaction: Transaction, request: ComparisonBody) -> tuple[int, list[JobRow]]:
    """Returns how many jobs are meant, and those to compare."""
    if request.jobs is not None:
        rows = [store.get_named(transaction, job_id) for job_id in dict.fromkeys(request.jobs)]
        return len(rows), rows
    wanted = JobFilter(
        query=parse(request.q or ""), group=request.group, zone=zone_of(request.time_zone)
    )
    total = search.count(transaction, wanted)
    return total, search.page(transaction, wanted, (), 0, MAX_COMPARED).jobs
