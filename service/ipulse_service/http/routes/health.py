"""Is the process alive, and can work flow through it?"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from ipulse_service.http import problems
from ipulse_service.http.state import get_state

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="The process answers")
async def alive() -> JSONResponse:
    return JSONResponse({"status": "ok"})


@router.get(
    "/readyz", summary="Database and artifact store take what is written, and the broker answers"
)
async def ready(request: Request) -> JSONResponse:
    state = get_state(request)
    checks = {
        **await state.readiness.checks(),
        "dispatcher": state.dispatcher.is_alive,
        "broker": state.dispatcher.broker_answers,
    }
    missing = [name for name, fine in checks.items() if not fine]
    if not missing:
        return JSONResponse({"status": "ok", "checks": checks})
    detail = f"not available now: {', '.join(missing)}"
    headers = {"retry-after": str(problems.RETRY_SECONDS)}
    return problems.document("/readyz", 503, "unavailable", detail, headers=headers)
