"""Route of the list of jobs, with filters and pages."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from ipulse_core import strict_json
from ipulse_core.errors import InvalidJSON, Problem
from ipulse_core.ids import JOB_ID_PREFIX
from ipulse_core.limits import CONTROL_CHARACTERS, MAX_INTEGER
from ipulse_core.states import JobState
from ipulse_service.db import calendar
from ipulse_service.db.engine import Transaction
from ipulse_service.http import pagination, problems
from ipulse_service.http.dependencies import (
    DIGITS,
    TIME_ZONE_ABOUT,
    State,
    TimeZone,
    UTCTime,
    written_as,
)
from ipulse_service.http.pagination import DEFAULT_PAGE, MAX_PAGE
from ipulse_service.http.problems import InvalidParameter
from ipulse_service.http.schemas.jobs.job_list import JobList, ListColumn, ListedJob
from ipulse_service.jobs import leases
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.search import filters, listing, search
from ipulse_service.jobs.search.column_values import values_of
from ipulse_service.jobs.search.columns import Scalar, asked_columns, sort_keys
from ipulse_service.jobs.search.syntax import parse
from ipulse_service.jobs.search.values import zone_of
from ipulse_service.jobs.search.vocabulary import Vocabulary

MAX_SKIP = 1_000_000

_LABEL = r"^[^=\x00-\x1f]+=[^\x00-\x1f]*$"
_FIELD = r"^(/[^=/\"\\\x00-\x1f]+)+=[^\x00-\x1f]*$"

# The last metadata, as of integers: it says more than that a pattern does not match.
_AS_LABEL = written_as(re.compile(_LABEL), "wrong_form", "must look like team=audio")
_AS_ID_PREFIX = written_as(
    re.compile(JOB_ID_PREFIX), "wrong_form", "must be the beginning of an id, such as job_5f3a9c0d"
)
_AS_FIELD = written_as(re.compile(_FIELD), "wrong_form", "must look like /training/epochs=30")

router = APIRouter(prefix="/v1", tags=["jobs"])


class SelectionQuery(BaseModel):
    """Query parameters that select jobs."""

    model_config = ConfigDict(extra="forbid")

    state: list[JobState] = Field(
        default=[], max_length=len(JobState), description="Jobs in one of these states."
    )
    device: list[Annotated[str, Field(max_length=32)]] = Field(
        default=[], max_length=16, description="Jobs for one of these kinds of devices."
    )
    label: list[Annotated[str, Field(pattern=_LABEL, max_length=600), _AS_LABEL]] = Field(
        default=[],
        max_length=16,
        description="`NAME=VALUE` of the spec's metadata.",
        examples=[["team=audio"]],
    )
    field: list[Annotated[str, Field(pattern=_FIELD, max_length=600), _AS_FIELD]] = Field(
        default=[],
        max_length=16,
        description="`POINTER=VALUE`: a JSON pointer into the spec, and the JSON value or text "
        "at that place.",
        examples=[["/training/epochs=30"]],
    )
    created_after: UTCTime | None = Field(
        default=None, description="Jobs created at this time or later; UTC without an offset."
    )
    created_before: UTCTime | None = Field(
        default=None, description="Jobs created before this time; UTC without an offset."
    )
    time_zone: TimeZone = Field(default="UTC", description=TIME_ZONE_ABOUT)
    q: str = Field(
        default="",
        description="A query in the search language (docs/reference/search.md); jobs must pass it "
        "and all filters.",
        examples=["state:succeeded test_accuracy>0.95 -tag:old"],
    )

    def filter(self) -> filters.JobFilter:
        """Returns the filter that the parameters describe. Raises InvalidQuery."""
        return filters.JobFilter(
            query=parse(self.q),
            zone=zone_of(self.time_zone),
            states=tuple(self.state),
            devices=tuple(self.device),
            labels=tuple(_label(text) for text in self.label),
            fields=tuple(_spec_field(text) for text in self.field),
            created_after=_milliseconds(self.created_after),
            created_before=_milliseconds(self.created_before),
        )


class JobQuery(SelectionQuery):
    """Query parameters of the list of jobs."""

    id_prefix: Annotated[str, Field(pattern=JOB_ID_PREFIX, max_length=64), _AS_ID_PREFIX] | None = (
        Field(
            default=None,
            description="Jobs with an id that begins with this text.",
            examples=["job_5f3a9c0d"],
        )
    )
    page_size: Annotated[int, Field(ge=0), DIGITS] = Field(
        default=0, description=f"0 means {DEFAULT_PAGE}; at most {MAX_PAGE} are returned."
    )
    page_token: str = Field(
        default="", max_length=256, description="The `next_page_token` of the previous page."
    )
    skip: Annotated[int, Field(ge=0, le=MAX_SKIP), DIGITS] = Field(
        default=0, description="Jobs to pass over, instead of a `page_token`."
    )
    sort: str = Field(
        default="",
        max_length=1_000,
        description="Columns with commas, each with `-` for descending order; jobs without a value "
        "come last. Otherwise, and among equal ones, newest first.",
        examples=["-test_accuracy,name"],
    )
    columns: str = Field(
        default="",
        max_length=10_000,
        description="Fields, metrics and settings with commas, to return in `values`.",
        examples=["learning_rate,test_accuracy.best"],
    )
    count: bool = Field(default=False, description="Return the number of jobs on all pages.")
    waiting_on: bool = Field(
        default=False, description="Return in `waiting_on` what each of the jobs waits for."
    )

    def filter(self) -> filters.JobFilter:
        """Returns the filter that the parameters describe. Raises InvalidQuery."""
        return replace(super().filter(), id_prefix=self.id_prefix or "")


@router.get(
    "/jobs",
    summary="List jobs",
    response_description="One page of jobs.",
    responses=problems.documented(422),
)
def list_jobs(query: Annotated[JobQuery, Query()], state: State) -> JobList:
    """Returns jobs, newest first or in the order of `sort`.

    A page that is filtered by `label` or `field` examines at most 10,000 jobs. It may contain
    fewer jobs than `page_size`, or none, and still have a `next_page_token`.
    """
    if query.skip and query.page_token:
        detail = "give either skip or page_token"
        raise InvalidParameter([Problem("/query/skip", "contradiction", detail)])
    wanted = query.filter()
    with state.database.read() as transaction:
        vocabulary = Vocabulary(transaction) if query.sort or query.columns else None
        page, token = _page(transaction, query, wanted, vocabulary)
        attempts = leases.of_jobs(transaction, [job.pk for job in page])
        columns = None
        values: dict[int, dict[str, Scalar]] = {}
        if vocabulary is not None and query.columns:
            columns = asked_columns(vocabulary, query.columns)
            agents = {pk: tried[-1].agent for pk, tried in attempts.items() if tried}
            values = values_of(transaction, page, columns, agents)
        total = search.count(transaction, wanted) if query.count else None
        waits = state.queue_view.waiting(transaction, page if query.waiting_on else [])
    return JobList(
        jobs=[
            ListedJob.of(
                job,
                attempts[job.pk],
                state.database.access,
                values.get(job.pk),
                waits.get(job.pk),
            )
            for job in page
        ],
        next_page_token=token,
        total=total,
        columns=None
        if columns is None
        else [ListColumn(key=key, name=name, kind=kind) for key, name, kind, _ in columns],
    )


def _page(
    transaction: Transaction,
    query: JobQuery,
    wanted: filters.JobFilter,
    vocabulary: Vocabulary | None,
) -> tuple[list[JobRow], str]:
    """Returns the jobs of a page, and the token of the next one."""
    size = min(query.page_size, MAX_PAGE) or DEFAULT_PAGE
    keys = sort_keys(vocabulary, query.sort) if vocabulary is not None else []
    text = repr(wanted) + (f" {keys!r}" if keys else "")
    last, skip = None, query.skip
    if query.page_token:
        last, skip = pagination.decode_sorted(query.page_token, text)
    if not keys and not skip:
        page, last = listing.page(transaction, last, size, wanted)
        return page, "" if last is None else pagination.encode(last, text)
    found = search.page(transaction, wanted, keys, skip, size, ceiling=last)
    token = pagination.encode(found.ceiling, text, skip + size) if found.has_more else ""
    return found.jobs, token


def _label(text: str) -> filters.Label:
    name, _, value = text.partition("=")
    return filters.Label(name, value)


def _spec_field(text: str) -> filters.Field:
    pointer, _, written = text.partition("=")
    path = tuple(strict_json.pointer_keys(pointer))
    try:
        value = strict_json.loads(written.encode())
    except InvalidJSON:
        value = written
    if isinstance(value, (dict, list)):
        detail = "the value must be a number, a text, true, false or null"
        raise InvalidParameter([Problem("/query/field", "wrong_form", detail)])
    if not _may_occur(value):
        detail = "no spec has such a value: its integers and texts are limited"
        raise InvalidParameter([Problem("/query/field", "out_of_range", detail)])
    return filters.Field(path, value)


def _may_occur(value: Scalar) -> bool:
    """Checks that the databases can compare the value."""
    if isinstance(value, str):
        return CONTROL_CHARACTERS.search(value) is None
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or abs(value) <= MAX_INTEGER


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else calendar.stored_moment(moment)
