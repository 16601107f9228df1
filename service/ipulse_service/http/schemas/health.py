"""Health and readiness as the API returns them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from ipulse_service.http.schemas.base import example


class HealthStatus(BaseModel):
    """The process answers."""

    model_config = example(status="ok")

    status: Literal["ok"] = "ok"


class ReadinessStatus(BaseModel):
    """Every part of the service works."""

    model_config = example(
        status="ok",
        checks={"database": True, "artifact_store": True, "dispatcher": True, "broker": True},
    )

    status: Literal["ok"] = "ok"
    checks: dict[str, bool] = Field(description="Parts by name.")
