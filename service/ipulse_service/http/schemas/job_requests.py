"""Requests that change jobs."""

from __future__ import annotations

from typing import Annotated

from ipulse.models import Field, Integer, StrictModel
from ipulse_core.limits import HIGHEST_PRIORITY, LOWEST_PRIORITY
from ipulse_service.http.schemas.base import example


class JobChange(StrictModel):
    """A change of a job that has not ended."""

    model_config = example(priority=10)

    priority: Annotated[Integer, Field(ge=LOWEST_PRIORITY, le=HIGHEST_PRIORITY)] = Field(
        description="Jobs with a greater priority start first."
    )
