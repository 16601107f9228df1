"""Events as the API returns them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ipulse_service.http.schemas.base import METRIC, example


class EventList(BaseModel):
    """One page of a job's events in order."""

    model_config = example(
        events=[
            {
                "seq": 1,
                "time": "2026-01-31T12:00:00.000Z",
                "attempt": None,
                "kind": "state",
                "state": "queued",
                "reason": None,
                "message": "",
            },
            {
                "seq": 12,
                "time": "2026-01-31T12:00:03.004Z",
                "attempt": 1,
                "kind": "metric",
                **METRIC,
            },
        ],
        next_after=12,
        end=False,
    )

    events: list[dict[str, Any]]
    next_after: int = Field(description="The value of `after` for the next page.")
    end: bool = Field(description="True if no event follows this page, now or later.")
