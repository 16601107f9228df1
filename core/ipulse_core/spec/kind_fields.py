"""Fields that some kinds of layers, devices and data sets have, and what the others do."""

from __future__ import annotations

from typing import Any, Dict

# The behaviour of a kind without the field. Fields that a kind has are in every spec (`upgrade`).
_OTHERS: Dict[str, Any] = {
    # Layers.
    "adaptation": None,
    "capacity": None,
    "decay": 0.0,
    "delays": None,
    "dropout": 0.0,
    "neuron": None,
    "neurons": None,
    "policy": None,
    "pool": None,
    "quantisation": None,
    "recurrent": False,
    "residual": (),
    "second_threshold": None,
    "standardised": False,
    "synapse_decay": None,
    "threshold": None,
    # Devices.
    "ipus": 1,
    "memory": "slots",
    "states_dtype": "float32",
    "stochastic_rounding": False,
    "training": "host",
    "weights_dtype": "float32",
    # Data sets.
    "classes": 0,
    "dataset": None,
    "encoding": None,
    "judged_on": "test",
    "name": "",
    "outputs": 0,
    "shape": None,
}


def field_of(part: Any, name: str) -> Any:
    """Returns a field of a part of a spec; of a kind that lacks it, what this kind does."""
    return getattr(part, name, _OTHERS[name])
