"""Routes that help to search jobs: the columns that occur, and suggestions for a query."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from ipulse_service.http import problems
from ipulse_service.http.dependencies import DIGITS, State
from ipulse_service.http.routes.jobs.job_list import SelectionQuery
from ipulse_service.http.schemas.jobs.search import ColumnInfo, ColumnList, SuggestionList
from ipulse_service.jobs.search import occurring, suggestions
from ipulse_service.jobs.search.syntax import MAX_QUERY
from ipulse_service.jobs.search.vocabulary import Vocabulary

router = APIRouter(prefix="/v1", tags=["jobs"])


@router.get(
    "/jobs:columns",
    summary="List the columns that occur in jobs",
    response_description="Fields, metrics and settings.",
    responses=problems.documented(422),
)
def list_columns(query: Annotated[SelectionQuery, Query()], state: State) -> ColumnList:
    """Returns the fields, metrics and settings of the jobs that pass the filters, with counts."""
    wanted = query.filter()
    with state.database.read() as transaction:
        vocabulary = Vocabulary(transaction)
        total, columns = occurring.columns(transaction, vocabulary, wanted)
    return ColumnList(total=total, columns=[ColumnInfo.of(column) for column in columns])


@router.get(
    "/jobs:suggest",
    summary="Suggest how a query may continue",
    response_description="At most 20 suggestions.",
)
def suggest(
    state: State,
    q: Annotated[
        str, Query(max_length=MAX_QUERY, description="The query so far.", examples=["state:run"])
    ] = "",
    at: Annotated[
        Annotated[int, Field(ge=0, le=MAX_QUERY), DIGITS] | None,
        Query(description="The place of the cursor, in characters from 0; by default the end."),
    ] = None,
) -> SuggestionList:
    """Returns names, or values that occur, for the term at the cursor."""
    place = len(q) if at is None else min(at, len(q))
    with state.database.read() as transaction:
        found = suggestions.suggest(transaction, Vocabulary(transaction), q, place)
    return SuggestionList.of(found)
