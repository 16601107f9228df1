"""Converts layers, readouts and surrogates to plain JSON values for `get_config`, and back."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, Dict, Union

import numpy as np

from ipulse_ops.lif.network import LIF, Layer, LeakyReadout
from ipulse_ops.surrogate import SURROGATES, Surrogate

Plain = Dict[str, Any]

_ONLY_LIF = {field.name for field in fields(LIF)} - {field.name for field in fields(LeakyReadout)}


def plain_layer(layer: Layer) -> Plain:
    """Return the fields of a layer; their names distinguish LIF from LeakyReadout."""
    return {
        name: field.tolist() if isinstance(field, (np.ndarray, np.generic)) else field
        for name, field in asdict(layer).items()
    }


def layer_of(plain: Union[Layer, Plain]) -> Layer:
    """Return a layer or readout from itself or from its fields.

    Fields that only LIF has yield a LIF. Raises TypeError for an unknown field.
    """
    if not isinstance(plain, dict):
        return plain
    return LIF(**plain) if _ONLY_LIF.intersection(plain) else LeakyReadout(**plain)


def plain_surrogate(surrogate: Surrogate) -> Plain:
    """Return the fields of a surrogate and, as "kind", its name in SURROGATES."""
    kind = next(name for name, known in SURROGATES.items() if known is type(surrogate))
    fields = {
        name: list(field) if isinstance(field, tuple) else field
        for name, field in asdict(surrogate).items()
    }
    return {"kind": kind, **fields}
