"""Requests that change jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, cast

from pydantic import BeforeValidator

from ipulse.models import Field, Integer, StrictModel
from ipulse.models.fields import ListOf
from ipulse_core.errors import Problem
from ipulse_core.ids import JOB_ID
from ipulse_core.limits import (
    CONTROL,
    GROUP,
    HIGHEST_PRIORITY,
    LOWEST_PRIORITY,
    MAX_NOTES,
    MAX_TAGS,
    PRINTABLE,
    TAG,
    TRIMMED,
)
from ipulse_service.http.dependencies import written_as
from ipulse_service.http.schemas.base import example
from ipulse_service.jobs.attributes import AttributeChange
from ipulse_service.jobs.dependencies import Dependency, OnEnd

# The last metadata: it says more than that a pattern does not match.
AS_TAG: BeforeValidator = written_as(
    re.compile(TAG), "wrong_form", "a tag has 1 to 40 of the characters a-z 0-9 _ . -"
)
AS_GROUP: BeforeValidator = written_as(
    re.compile(GROUP),
    "wrong_form",
    "the name of a group has 1 to 80 of the characters A-Z a-z 0-9 _ . - and begins with a letter "
    "or digit",
)
NOTES = rf"^[^{CONTROL}]*$"
ON_END = "(:(success|end|failure))?"  # behind a job to wait for
AFTER = f"{JOB_ID.removesuffix('$')}{ON_END}$"
MAX_SECONDS = 10**8  # three years


def dependencies_of(after: Sequence[str]) -> tuple[Dependency, ...]:
    """Returns the jobs to wait for, each from `JOB` or `JOB:end`."""
    parts = [text.partition(":") for text in after]
    return tuple(Dependency(job, cast(OnEnd, on or "success")) for job, _, on in parts)


class ContinueRequest(StrictModel):
    """A request to train a job for more epochs."""

    model_config = example(epochs=10)

    epochs: Annotated[Integer, Field(ge=1, le=100_000)] = Field(
        description="Epochs in addition to those that its last checkpoint has."
    )


class ImportRequest(StrictModel):
    """A request to import a job."""

    model_config = example(upload_id="upl_1a2b3c4d5e6f708192a3b4c5")

    upload_id: str = Field(
        max_length=64, pattern=PRINTABLE, description="The id of a complete upload of an archive."
    )


Tag = Annotated[str, Field(pattern=TAG), AS_TAG]
Tags = Annotated[ListOf[Tag], Field(max_length=MAX_TAGS)]


class GroupChange(StrictModel):
    """Changes of the attributes that several jobs may share; null leaves one as it is."""

    model_config = example(add_tags=["baseline"], remove_tags=["new"], group="wide", priority=10)

    add_tags: Tags = Field(default=(), description="Tags to add.", examples=[["baseline"]])
    remove_tags: Tags = Field(default=(), description="Tags to remove.")
    group: Annotated[str, Field(pattern=f"{GROUP}|^$")] | None = Field(
        default=None, description="The group of jobs that it belongs to; empty: none."
    )
    priority: Annotated[Integer, Field(ge=LOWEST_PRIORITY, le=HIGHEST_PRIORITY)] | None = Field(
        default=None,
        description="Jobs with a greater priority start first. Not for a job that has ended.",
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a problem if nothing is to be changed, or a tag is both added and removed."""
        if not self.model_fields_set:
            names = ", ".join(type(self).model_fields)
            yield Problem(
                "", "nothing_to_change", f"there is nothing to change: give one of {names}"
            )
        for index, tag in enumerate(self.remove_tags):
            if tag in self.add_tags:
                detail = f"the tag {tag} is also to be added"
                yield Problem(f"/remove_tags/{index}", "contradiction", detail)

    def attributes(self) -> AttributeChange:
        """Returns the changes."""
        return AttributeChange(
            group=self.group,
            add_tags=self.add_tags,
            remove_tags=self.remove_tags,
            priority=self.priority,
        )


class JobChange(GroupChange):
    """Changes of a job's attributes; null leaves one as it is."""

    model_config = example(
        name="digits, wide",
        notes="First with 512 neurons.",
        tags=["baseline", "wide"],
        add_tags=[],
        remove_tags=[],
        group="wide",
        priority=10,
    )

    name: Annotated[str, Field(min_length=1, max_length=128, pattern=TRIMMED)] | None = Field(
        default=None, description="The name that lists show; the spec keeps its own."
    )
    notes: Annotated[str, Field(max_length=MAX_NOTES, pattern=NOTES)] | None = Field(
        default=None, description="Notes for people, in Markdown."
    )
    tags: Tags | None = Field(default=None, description="All tags of the job, instead of others.")

    def attributes(self) -> AttributeChange:
        """Returns the changes."""
        return AttributeChange(
            name=self.name,
            notes=self.notes,
            group=self.group,
            tags=self.tags,
            add_tags=self.add_tags,
            remove_tags=self.remove_tags,
            priority=self.priority,
        )
