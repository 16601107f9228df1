"""Route of the list of jobs, with filters and pages."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from ipulse_core import strict_json
from ipulse_core.errors import InvalidJSON, Problem
from ipulse_core.limits import CONTROL_CHARACTERS, MAX_INTEGER
from ipulse_core.states import JobState
from ipulse_service.db import calendar
from ipulse_service.http import pagination
from ipulse_service.http.dependencies import DIGITS, RFC3339, State, written_as
from ipulse_service.http.problems import InvalidParameter
from ipulse_service.http.schemas.jobs import JobList, JobSummary
from ipulse_service.jobs import filters, leases, listing

DEFAULT_PAGE = 50
MAX_PAGE = 500

_LABEL = r"^[^=\"\\\x00-\x1f]+=[^\x00-\x1f]*$"
_ID_PREFIX = r"^job_[0-9a-f]{0,24}$"
_FIELD = r"^(/[^=/\"\\\x00-\x1f]+)+=[^\x00-\x1f]*$"

# The last metadata, as of integers: it says more than that a pattern does not match.
_AS_LABEL = written_as(re.compile(_LABEL), "wrong_form", "must look like team=audio")
_AS_ID_PREFIX = written_as(
    re.compile(_ID_PREFIX), "wrong_form", "must be the beginning of an id, such as job_5f3a9c0d"
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
    created_after: Annotated[AwareDatetime, RFC3339] | None = Field(
        default=None, description="Jobs created at this time or later."
    )
    created_before: Annotated[AwareDatetime, RFC3339] | None = Field(
        default=None, description="Jobs created before this time."
    )

    def filter(self) -> filters.JobFilter:
        """Returns the filter that the parameters describe."""
        return filters.JobFilter(
            states=tuple(self.state),
            devices=tuple(self.device),
            labels=tuple(_label(text) for text in self.label),
            fields=tuple(_spec_field(text) for text in self.field),
            created_after=_milliseconds(self.created_after),
            created_before=_milliseconds(self.created_before),
        )


class JobQuery(SelectionQuery):
    """Query parameters of the list of jobs."""

    id_prefix: Annotated[str, Field(pattern=_ID_PREFIX, max_length=64), _AS_ID_PREFIX] | None = (
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

    def filter(self) -> filters.JobFilter:
        """Returns the filter that the parameters describe."""
        return replace(super().filter(), id_prefix=self.id_prefix or "")


@router.get("/jobs", summary="List jobs", response_description="One page of jobs.")
def list_jobs(query: Annotated[JobQuery, Query()], state: State) -> JobList:
    """Returns jobs, newest first.

    A page that is filtered by `label` or `field` examines at most 10,000 jobs. It may contain
    fewer jobs than `page_size`, or none, and still have a `next_page_token`.
    """
    job_filter = query.filter()
    filters_text = repr(job_filter)
    before = pagination.decode(query.page_token, filters_text) if query.page_token else None
    size = min(query.page_size, MAX_PAGE) or DEFAULT_PAGE
    with state.database.read() as transaction:
        page, last = listing.page(transaction, before, size, job_filter)
        attempts = leases.of_jobs(transaction, [job.pk for job in page])
    return JobList(
        jobs=[JobSummary.from_row(job, attempts[job.pk]) for job in page],
        next_page_token="" if last is None else pagination.encode(last, filters_text),
    )


def _label(text: str) -> filters.Field:
    name, _, value = text.partition("=")
    return filters.Field((name,), value)


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


def _may_occur(value: filters.Scalar) -> bool:
    """Checks that the databases can compare the value."""
    if isinstance(value, str):
        return CONTROL_CHARACTERS.search(value) is None
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or abs(value) <= MAX_INTEGER


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else calendar.stored(round(moment.timestamp() * 1000))
