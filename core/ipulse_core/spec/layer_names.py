"""The names of layers as users see them.

The arguments are parts of `ipulse.spec.ExperimentSpec` or of the document that the runner reads.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from ipulse_core.spec.kind_fields import field_of


def layer_name(index: int, hidden: int, given: Optional[str] = None) -> str:
    """Returns the name of a layer: the one that it was given, or `layers[0]`, or `readout`.

    Args:
        index: The layer's, the readout last.
        hidden: How many hidden layers the network has.
        given: The name in the spec, if it has one.
    """
    return given or (f"layers[{index}]" if index < hidden else "readout")


def shown_names(network: Any) -> Dict[str, str]:
    """Returns the names of a network's layers by their names in keys: 1, 2, ... and readout."""
    hidden = len(network.layers)
    keys = [*(str(number) for number in range(1, hidden + 1)), "readout"]
    return {
        key: layer_name(index, hidden, field_of(layer, "name"))
        for index, (key, layer) in enumerate(zip(keys, (*network.layers, network.readout)))
    }
