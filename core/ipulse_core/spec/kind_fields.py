"""Fields that some kinds of layers, devices and data sets have, and what the others do."""

from __future__ import annotations

from typing import Any, Dict

from ipulse_core.neurons.constants import ROWS

# The behaviour of a kind without the field. Fields that a kind has are in every spec (`upgrade`).
_OTHERS: Dict[str, Any] = {
    # Layers.
    **{row.path[0]: None for row in ROWS if row.is_optional},
    "bias": False,
    "capacity": None,
    "decay": 0.0,
    "delays": None,
    "dropout": 0.0,
    "gate": None,
    "neuron": None,
    "neurons": None,
    "policy": "index",
    "pool": None,
    "quantisation": None,
    "recurrent": False,
    "residual": (),
    "standardised": False,
    "threshold": None,
    "trainable": True,
    # Devices.
    "ipus": 1,
    "memory": "slots",
    "split": None,
    "states_dtype": "float32",
    "steps_per_execution": 1,
    "stochastic_rounding": False,
    "training": "host",
    "weights_dtype": "float32",
    # Data sets.
    "classes": 0,
    "dataset": None,
    "input": "spikes",
    "encoding": None,
    "judged_on": "test",
    "name": "",
    "outputs": 0,
    "shape": None,
}


def field_of(part: Any, name: str) -> Any:
    """Returns a field of a part of a spec; of a kind that lacks it, what this kind does."""
    return getattr(part, name, _OTHERS[name])
