"""Fields that some kinds of layers, devices and data sets have, and what the others do."""

from __future__ import annotations

from functools import lru_cache
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
    return attribute_of(part, name, _OTHERS[name])


def attribute_of(part: Any, name: str, default: Any) -> Any:
    """Returns an attribute as `getattr` does.

    Pydantic's search for attributes that a model lacks took a third of the time of reading a spec.
    """
    values = getattr(part, "__dict__", {})
    if name in values:
        return values[name]
    return getattr(part, name, default) if _may_have(part.__class__, name) else default


@lru_cache(maxsize=None)  # of few classes and names
def _may_have(kind: Any, name: str) -> bool:
    """Returns whether objects of a class may have an attribute that is not their own."""
    return not hasattr(kind, "model_fields") or hasattr(kind, name)
