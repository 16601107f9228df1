"""For Prometheus, with a reader's token."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from ipulse_service.http.state import get_state

router = APIRouter(tags=["operations"])


@router.get("/metrics", responses={200: {"content": {"text/plain": {}}}})
def metrics(request: Request) -> Response:
    """Requests by route and status, jobs by state, agents, and what waits to be published."""
    state = get_state(request)
    return Response(state.metrics.text(), headers={"content-type": CONTENT_TYPE_LATEST})
