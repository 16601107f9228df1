"""Columns that occur in jobs, and suggestions for a query, as the API returns them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, Field

from ipulse_service.http.schemas.base import example
from ipulse_service.jobs.search.columns import ColumnKind
from ipulse_service.jobs.search.occurring import OccurringColumn, ValueType
from ipulse_service.jobs.search.suggestions import Suggestions

_COLUMN = {
    "name": "training.optimizer.learning_rate",
    "label": "learning_rate",
    "kind": "setting",
    "jobs": 42,
    "differs": True,
    "type": "number",
    "min": 0.001,
    "max": 0.1,
}
_ITEM = {"text": "running", "label": "running", "jobs": 2, "about": "state of the job"}


class ColumnInfo(BaseModel):
    """A field, metric or setting that can be a column, a sort key or a part of a query."""

    model_config = example(**_COLUMN)

    name: str = Field(description="Its full name.")
    label: str = Field(description="The shortest end of the name that means only this.")
    kind: ColumnKind
    jobs: int = Field(description="Jobs that have it.")
    differs: bool | None = Field(description="Whether the jobs differ in it; null: not known.")
    type: ValueType
    min: float | None = Field(description="The smallest number.")
    max: float | None = Field(description="The largest number.")

    @classmethod
    def of(cls, column: OccurringColumn) -> Self:
        """Returns the model of a column."""
        return cls(**vars(column))


class ColumnList(BaseModel):
    """Fields, metrics and settings that occur in some jobs."""

    model_config = example(total=42, columns=[_COLUMN])

    total: int = Field(description="Number of the jobs.")
    columns: list[ColumnInfo] = Field(description="Fields, then metrics, then settings, by name.")


class SuggestionInfo(BaseModel):
    """A text that may stand in a query."""

    model_config = example(**_ITEM)

    text: str = Field(description="Replaces the characters from `start` to `end`.")
    label: str
    jobs: int | None = Field(description="Jobs that have it, where that is known.")
    about: str = Field(description="For people; the wording may change.")


class SuggestionList(BaseModel):
    """Suggestions for a place of a query."""

    model_config = example(start=6, end=9, kind="value", items=[_ITEM])

    start: int = Field(description="In characters from 0.")
    end: int
    kind: Literal["name", "value"]
    items: list[SuggestionInfo]

    @classmethod
    def of(cls, suggestions: Suggestions) -> Self:
        """Returns the model of suggestions."""
        return cls(
            start=suggestions.start,
            end=suggestions.end,
            kind=suggestions.kind,
            items=[SuggestionInfo(**vars(item)) for item in suggestions.items],
        )
