"""The route of the capability table."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter

from ipulse_core.registry.features import FEATURES
from ipulse_core.registry.kinds import DEVICES, LAYER_KINDS
from ipulse_core.registry.table import to_json
from ipulse_service.http.schemas.jobs.capabilities import CapabilityTable

router = APIRouter(prefix="/v1", tags=["jobs"])


@router.get(
    "/capabilities",
    summary="Read what runs where",
    response_description="Features, kinds of layers and devices, and a cell for each triple.",
)
async def read_capabilities(
    # mypy knows no names that come from a table.
    feature: Literal[tuple(FEATURES)] | None = None,  # type: ignore[valid-type]
    kind: Literal[tuple(LAYER_KINDS)] | None = None,  # type: ignore[valid-type]
    device: Literal[tuple(DEVICES)] | None = None,  # type: ignore[valid-type]
) -> CapabilityTable:
    """Returns which features run with which kinds of layers on which kinds of devices.

    The cells are those of the feature, kind of layer and device that the query names; of all that
    it does not name.
    """
    table = to_json()
    wanted = {"feature": feature, "kind": kind, "device": device}
    table["cells"] = [
        cell
        for cell in table["cells"]
        if all(value in (None, cell[name]) for name, value in wanted.items())
    ]
    return CapabilityTable.model_validate(table)
