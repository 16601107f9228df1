"""Layers, readouts and surrogates as what JSON can hold, and back: what `get_config` needs."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, Dict, Tuple, Union

import numpy as np

from ops.lif.network import LIF, Layer, LeakyReadout
from ops.surrogate import SURROGATES, Surrogate

Plain = Dict[str, Any]

_ONLY_LIF = {field.name for field in fields(LIF)} - {field.name for field in fields(LeakyReadout)}


def plain_layer(layer: Layer) -> Plain:
    """The fields; LIF's and LeakyReadout's are told apart by their names."""
    return {
        name: field.tolist() if isinstance(field, np.ndarray) else field
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


def surrogate_of(plain: Union[Surrogate, Plain, str]) -> Surrogate:
    """A surrogate, from itself, its fields or, with its own defaults, its name.

    Raises ValueError for an unknown name.
    """
    if isinstance(plain, str):
        plain = {"kind": plain}
    if not isinstance(plain, dict):
        return plain
    fields = dict(plain)
    kind = fields.pop("kind", "superspike")
    if kind not in SURROGATES:
        raise ValueError(f"surrogate must be one of {', '.join(SURROGATES)}; got {kind}")
    return SURROGATES[kind](**fields)


def choice(name: str, value: str, choices: Tuple[str, ...]) -> str:
    """The value. Raises ValueError if it is none of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be {', '.join(choices[:-1])} or {choices[-1]}; got {value}")
    return value
