"""The mapping of layers to tiles, computed by the Poplar op's library."""

from __future__ import annotations

import json
from typing import Any, Dict

from ipulse_core.ipu import MK2_TILES
from ipulse_ops.lif.network import Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.attributes import attributes_of
from ipulse_ops.lif.poplar.library_report import library_report


def tile_plan(
    network: Network,
    batch: int,
    input_slots: int,
    placement: Placement = Placement(),
    tiles_per_ipu: int = MK2_TILES,
) -> Dict[str, Any]:
    """Return the tiles of each layer, and `load_balance`: mean over maximum of the tiles' work.

    Raises UnsupportedNetwork; ValueError if the network does not fit the tiles.
    """
    return tile_plan_of(attributes_of(network, input_slots, placement), batch, tiles_per_ipu)


def tile_plan_of(attributes: str, batch: int, tiles_per_ipu: int = MK2_TILES) -> Dict[str, Any]:
    """Return the plan of an op with these attributes.

    Raises ValueError if it does not fit the tiles.
    """
    text = library_report("ipulse_lif_plan", attributes, batch, tiles_per_ipu)
    plan: Dict[str, Any] = json.loads(text)
    return plan
