"""The text of a job's spec as the API returns it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from ipulse_service.http.schemas.base import example
from ipulse_service.jobs.submitted_text import TextForm

SpecForm = Literal["resolved", "submitted", "version_2", "brief"]


class SpecText(BaseModel):
    """The text of a spec."""

    model_config = example(
        form="submitted", format="yaml", text="version: 1\nname: digits  # the first try\n"
    )

    form: SpecForm
    format: TextForm = Field(description="JSON is YAML, too.")
    text: str
