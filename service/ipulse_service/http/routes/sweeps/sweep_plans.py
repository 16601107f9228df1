"""The route that plans a sweep."""

from __future__ import annotations

from fastapi import APIRouter

from ipulse.sweeps import SweepConfig
from ipulse_service.http import problems
from ipulse_service.http.dependencies import State
from ipulse_service.http.routes.sweeps.sweeps import SweepRoute
from ipulse_service.http.schemas.quotas import QuotaInfo
from ipulse_service.http.schemas.sweeps.plans import PlannedSweep
from ipulse_service.quotas import store as quota_store
from ipulse_service.sweeps import planning

router = APIRouter(prefix="/v1", tags=["sweeps"], route_class=SweepRoute)


@router.post(
    "/sweeps:plan",
    summary="Plan a sweep",
    response_description="The definition is valid.",
    responses=problems.documented(409, 413, 415, 422),
)
def plan_sweep(config: SweepConfig, state: State) -> PlannedSweep:
    """Checks a definition as its creation does, and says what it would take; stores nothing."""
    with state.database.read() as transaction:
        plan = planning.plan(transaction, state.queue_view, config)
        access = transaction.access
        limits = quota_store.limits_of(transaction, access.preferred_project, access.name)
        quotas = QuotaInfo.of(quota_store.with_used(transaction, limits))
    return PlannedSweep.of(plan, quotas)
