"""Route of the metrics that Prometheus reads."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from ipulse_service.http.dependencies import State

router = APIRouter(tags=["operations"])


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    summary="Get metrics for Prometheus",
    response_description="The metrics.",
)
def get_metrics(state: State) -> PlainTextResponse:
    """Returns requests by route and status, jobs by state, agents, and unpublished wake-ups.

    The token of a reader is sufficient.
    """
    return PlainTextResponse(state.metrics.text(), headers={"content-type": CONTENT_TYPE_LATEST})
