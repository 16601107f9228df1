"""Layers, readouts and surrogates as what JSON can hold, and back: what `get_config` needs."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, Dict, Union

import numpy as np

from ipulse_ops.lif.network import LIF, Layer, LeakyReadout
from ipulse_ops.surrogate import SURROGATES, Surrogate

Plain = Dict[str, Any]

_ONLY_LIF = {field.name for field in fields(LIF)} - {field.name for field in fields(LeakyReadout)}


def plain_layer(layer: Layer) -> Plain:
    """The fields; LIF's and LeakyReadout's are told apart by their names."""
    return {
        name: field.tolist() if isinstance(field, (np.ndarray, np.generic)) else field
        for name, field in asdict(layer).items()
    }


def layer_of(plain: Union[Layer, Plain]) -> Layer:
    """A layer or readout, from itself or its fields.

    Fields that only LIF has make it one. Raises TypeError for unknown ones.
    """
    if not isinstance(plain, dict):
        return plain
    return LIF(**plain) if _ONLY_LIF.intersection(plain) else LeakyReadout(**plain)


def plain_surrogate(surrogate: Surrogate) -> Plain:
    """Its fields and, as "kind", its name in SURROGATES."""
    kind = next(name for name, known in SURROGATES.items() if known is type(surrogate))
    fields = {
        name: list(field) if isinstance(field, tuple) else field
        for name, field in asdict(surrogate).items()
    }
    return {"kind": kind, **fields}
