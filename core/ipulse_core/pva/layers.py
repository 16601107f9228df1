"""The network's layer of a step, from the names that the Poplar op gives to its steps."""

from __future__ import annotations

import re
from typing import Dict, Mapping, Optional

READOUT = "readout"
AROUND = "around the layers"
TOGETHER = "all layers together"
# Parts of the names of steps and of scopes (TilePlan::names of the Poplar op).
_LAYER = re.compile(r"(?:^|/)(?:layer(\d+)|(readout)|(all_layers))(?:/|$)")


def layer_of(name: str, layers: Optional[int] = None) -> str:
    """Return the layer of a step, counted from 1: "layer 1", READOUT, TOGETHER or AROUND.

    layers: the number of layers including the readout, if it is known. TensorFlow's own steps may
    have a name with a larger number.
    """
    match = _LAYER.search(name)
    if match is None:
        return AROUND
    number, readout, together = match.groups()
    if together or readout:
        return TOGETHER if together else READOUT
    return f"layer {number}" if 0 < int(number) < (layers or int(number) + 1) else AROUND


def layer_shares(
    name: str, by_scope: Mapping[str, float], layers: Optional[int] = None
) -> Dict[str, float]:
    """Return the shares of layers in a step's cycles; they sum to 1.

    by_scope: the cycles of its vertices by the scope of what they write, by which a step of several
    layers is divided; may be empty.
    """
    own = layer_of(name, layers)
    total = sum(by_scope.values())
    if own not in (TOGETHER, AROUND) or not total:
        return {own: 1.0}
    shares: Dict[str, float] = {}
    for scope, cycles in by_scope.items():
        layer = layer_of(scope, layers)
        kept = own if layer == AROUND else layer
        shares[kept] = shares.get(kept, 0.0) + cycles / total
    return shares
