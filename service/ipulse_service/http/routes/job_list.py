"""List jobs, all or some."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from ipulse_core import strict_json
from ipulse_core.errors import InvalidJSON, Problem
from ipulse_core.states import JobState
from ipulse_service.http import pagination
from ipulse_service.http.problems import InvalidParameter
from ipulse_service.http.responses import described, json_answer
from ipulse_service.http.state import get_state
from ipulse_service.jobs import filters, listing

DEFAULT_PAGE = 50
MAX_PAGE = 500

_LABEL = r"^[^=\"\\\x00-\x1f]+=[^\x00-\x1f]*$"
_FIELD = r"^(/[^=/\"\\\x00-\x1f]+)+=[^\x00-\x1f]*$"

router = APIRouter(prefix="/v1", tags=["jobs"])


class JobQuery(BaseModel):
    """Which jobs, and how many at once."""

    model_config = ConfigDict(extra="forbid")

    page_size: int = Field(
        default=0, ge=0, description=f"0 means {DEFAULT_PAGE}; at most {MAX_PAGE} are shown."
    )
    page_token: str = Field(default="", max_length=256)
    state: list[JobState] = Field(default=[], max_length=len(JobState))
    device: list[Annotated[str, Field(max_length=32)]] = Field(default=[], max_length=16)
    label: list[Annotated[str, Field(pattern=_LABEL, max_length=600)]] = Field(
        default=[],
        max_length=16,
        description="NAME=VALUE of the spec's metadata.",
        examples=[["team=audio"]],
    )
    field: list[Annotated[str, Field(pattern=_FIELD, max_length=600)]] = Field(
        default=[],
        max_length=16,
        description="POINTER=VALUE: a JSON pointer into the spec, and the JSON value or the text "
        "that is there.",
        examples=[["/training/epochs=30"]],
    )
    created_after: AwareDatetime | None = Field(default=None, description="At or after.")
    created_before: AwareDatetime | None = Field(default=None, description="Before.")

    def filter(self) -> filters.JobFilter:
        return filters.JobFilter(
            states=tuple(self.state),
            devices=tuple(self.device),
            labels=tuple(_label(text) for text in self.label),
            fields=tuple(_spec_field(text) for text in self.field),
            created_after=_milliseconds(self.created_after),
            created_before=_milliseconds(self.created_before),
        )


@router.get("/jobs", responses={200: described("JobPageBody")})
def list_jobs(query: Annotated[JobQuery, Query()], request: Request) -> Response:
    """Jobs, newest first.

    A page by `label` or `field` looks into 10,000 jobs at most: it may be short, or empty, and
    yet have a `next_page_token`.
    """
    state = get_state(request)
    wanted = query.filter()
    shown_by = repr(wanted)
    before = pagination.decode(query.page_token, shown_by) if query.page_token else None
    size = min(query.page_size, MAX_PAGE) or DEFAULT_PAGE
    with state.database.read() as transaction:
        shown, last = listing.page(transaction, before, size, wanted)
        summaries = ",".join(state.summaries.of(transaction, shown))
    # A token has no character that JSON would escape.
    following = "" if last is None else pagination.encode(last, shown_by)
    return json_answer(f'{{"jobs":[{summaries}],"next_page_token":"{following}"}}')


def _label(text: str) -> filters.Field:
    name, _, value = text.partition("=")
    return filters.Field((name,), value)


def _spec_field(text: str) -> filters.Field:
    pointer, _, written = text.partition("=")
    path = tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    try:
        value = strict_json.loads(written.encode())
    except InvalidJSON:
        value = written
    if isinstance(value, (dict, list)):
        detail = "compares with a number, a text, true, false or null"
        raise InvalidParameter([Problem("/query/field", "wrong_form", detail)])
    return filters.Field(path, value)


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)
