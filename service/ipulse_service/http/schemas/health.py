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
        document_sandbox="bubblewrap",
        accepts_documents=True,
    )

    status: Literal["ok"] = "ok"
    checks: dict[str, bool] = Field(description="Parts by name.")
    document_sandbox: Literal["bubblewrap", "off", "missing", "unknown"] = Field(
        description="Where documents of users are read: in a sandbox of bubblewrap, else in a "
        "process with limits of memory and time. `off`: the operator wants no sandbox. `unknown`: "
        "it was not tried yet, or did not answer; no document is read before it does."
    )
    accepts_documents: bool = Field(
        description="False without a sandbox, if the service requires one."
    )
