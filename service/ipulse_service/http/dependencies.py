"""Parameters and dependencies that several routes share."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Path

from ipulse_service.http.auth import Caller
from ipulse_service.http.prefer import wait_seconds
from ipulse_service.http.state import AppState, get_caller, get_state

State = Annotated[AppState, Depends(get_state)]
CurrentCaller = Annotated[Caller, Depends(get_caller)]
WaitSeconds = Annotated[int, Depends(wait_seconds)]

JobId = Annotated[str, Path(description="The job's id.")]
AttemptId = Annotated[str, Path(description="The attempt's id.")]
Fence = Annotated[
    str,
    Header(alias="IPUlse-Fence", max_length=128, description="The attempt's fencing token."),
]
IfMatch = Annotated[str | None, Header(description="Change the job only if its ETag is this one.")]
IfNoneMatch = Annotated[str | None, Header(description="Answer 304 if the ETag is still this one.")]
