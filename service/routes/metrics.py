"""For Prometheus, with a reader's token."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from service.parts import parts_of

router = APIRouter(tags=["operations"])


@router.get("/metrics", responses={200: {"content": {"text/plain": {}}}})
def metrics(request: Request) -> Response:
    """Requests by route and status, jobs by state, agents, and what waits to be published."""
    # Prometheus's client is a fiftieth of a start, and only this answer needs it.
    from service import exposition

    parts = parts_of(request)
    page = exposition.page(parts.metrics, parts.database)
    return Response(page, headers={"content-type": exposition.MEDIA_TYPE})
