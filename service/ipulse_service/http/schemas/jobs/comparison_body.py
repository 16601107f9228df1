"""Requests to compare jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from ipulse.models import StrictModel
from ipulse.models.fields import ListOf, Text
from ipulse_core.errors import Problem
from ipulse_core.limits import GROUP, PRINTABLE
from ipulse_service.http.dependencies import TIME_ZONE_ABOUT, TimeZone
from ipulse_service.http.schemas.base import JOB_ID, example
from ipulse_service.jobs.search.comparison import ComparisonRequest

MAX_COMPARED = 1_000  # jobs
MAX_NAMES = 100

_Names = Annotated[ListOf[Text], Field(max_length=MAX_NAMES)]


class ComparisonBody(StrictModel):
    """The jobs to compare, by ids, a query or a group, and how."""

    model_config = example(
        jobs=[JOB_ID],
        q="state:succeeded",
        time_zone="UTC",
        group="wide",
        columns=["learning_rate"],
        metrics=["test_accuracy"],
        group_by=["learning_rate"],
        **{"except": ["seed"]},
    )

    jobs: Annotated[ListOf[Text], Field(max_length=MAX_COMPARED)] | None = Field(
        default=None, description="Ids of jobs."
    )
    q: str | None = Field(
        default=None,
        pattern=PRINTABLE,
        description="A query in the search language; empty: every job.",
    )
    time_zone: TimeZone = Field(default="UTC", description=TIME_ZONE_ABOUT)
    group: Annotated[str, Field(pattern=GROUP)] | None = Field(
        default=None, description="A group of jobs."
    )
    columns: _Names | None = Field(
        default=None, description="Settings and fields to return; null: the settings that differ."
    )
    metrics: _Names | None = Field(
        default=None,
        description="Metrics, also as test_accuracy.best; null: test_accuracy, test_loss, accuracy "
        "and loss where they occur.",
    )
    group_by: _Names | None = Field(
        default=None,
        description="Settings and fields of which jobs of a group have equal values; null: all "
        "settings that differ, but those of `except`.",
    )
    left_out: _Names = Field(
        default=("seed",), alias="except", description="Settings that do not separate groups."
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a problem unless jobs are named in one way."""
        if self.jobs is None and self.q is None and self.group is None:
            yield Problem("", "no_jobs", "name jobs, a query q, or a group")
        if self.jobs is not None and (self.q is not None or self.group is not None):
            yield Problem("/jobs", "contradiction", "give either jobs, or a query and a group")

    def names(self) -> ComparisonRequest:
        """Returns the names that the comparison is about."""
        return ComparisonRequest(self.columns, self.metrics, self.group_by, self.left_out)
