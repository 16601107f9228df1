"""Routes that tell whether the process is alive and whether it can work."""

from __future__ import annotations

from fastapi import APIRouter

from ipulse_core.errors import Unavailable
from ipulse_service.http.dependencies import State
from ipulse_service.http.schemas.health import HealthStatus, ReadinessStatus

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="Check that the process is alive", response_description="It is.")
async def get_health() -> HealthStatus:
    """Returns 200 as long as the process answers requests."""
    return HealthStatus()


@router.get(
    "/readyz",
    summary="Check that the service is ready",
    response_description="Every part works.",
)
async def get_readiness(state: State) -> ReadinessStatus:
    """Checks that the database and the artifact store are writable and the broker answers.

    While the service starts, the detail of the 503 says what it waits for.
    """
    if not state.startup.is_done:
        raise Unavailable(f"not available now: {state.startup.reason}")
    checks = {
        **await state.readiness.checks(),
        "publisher": state.publisher.is_alive,
        "reaper": state.reaper.is_alive,
        "broker": state.publisher.broker_answers,
    }
    missing = [name for name, works in checks.items() if not works]
    if missing:
        raise Unavailable(f"not available now: {', '.join(missing)}")
    isolation = state.reader.isolation
    sandbox, _ = isolation.state()  # as last known: anybody may ask, and a trial takes long
    return ReadinessStatus(
        checks=checks,
        document_sandbox=sandbox,
        accepts_documents=sandbox in ("bubblewrap", "unknown") or not isolation.is_required,
    )
