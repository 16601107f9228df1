"""Which constants of a network's neurons are trained with its weights."""

from __future__ import annotations

from typing import Dict, Sequence, Tuple, Union

import numpy as np

from ipulse_core.neurons.constants import ROWS, Bounds
from ipulse_core.spec.start_weights import CONSTANTS
from ipulse_ops.lif.layer_constants import trained_bounds
from ipulse_ops.lif.network import Layer
from ipulse_ops.validation import choice

# Lowest and highest values of trained constants.
BOUNDS: Dict[str, Tuple[float, float]] = {
    row.name: trained_bounds(row.bounds)
    for row in ROWS
    if row.is_trained and row.bounds != Bounds()
}

Trainable = Union[bool, str, Sequence[Union[str, Sequence[str]]]]


def trained_of(trainable: Trainable, layers: Tuple[Layer, ...]) -> Tuple[Tuple[str, ...], ...]:
    """Return the constants to train per layer, in the order of CONSTANTS.

    Raises ValueError for an unknown name, a constant that no layer has, or a decay of 1.
    """
    found = _named(trainable, layers)
    for number, (names, layer) in enumerate(zip(found, layers), start=1):
        if "decay" in names and np.any(np.equal(layer.decay, 1)):
            raise ValueError(f"layer {number} has a decay of 1, which cannot be trained")
    return found


def _named(trainable: Trainable, layers: Tuple[Layer, ...]) -> Tuple[Tuple[str, ...], ...]:
    """Return the constants that are named, see `trained_of`."""
    if isinstance(trainable, bool):
        trainable = ()
    if isinstance(trainable, str):
        trainable = (trainable,)
    if not isinstance(trainable, (list, tuple)):
        raise ValueError(f"trainable must name constants, or list them; got {trainable!r}")
    if all(isinstance(name, str) for name in trainable):
        names = tuple(choice("trainable", str(name), CONSTANTS) for name in trainable)
        found = tuple(
            tuple(n for n in CONSTANTS if n in names and getattr(layer, n, None) is not None)
            for layer in layers
        )
        for name in names:
            if not any(name in of_layer for of_layer in found):
                raise ValueError(f"no layer has a {name} to train")
        return found
    if len(trainable) != len(layers):
        raise ValueError(
            f"trainable must name constants, or list them for each of {len(layers)} layers (the "
            f"readout is the last); got {len(trainable)}"
        )
    for number, (names_of, layer) in enumerate(zip(trainable, layers)):
        if not isinstance(names_of, (list, tuple)):
            raise ValueError(f"trainable[{number}] must be a list of names; got {names_of!r}")
        for name in names_of:
            choice(f"trainable[{number}]", name, CONSTANTS)
            if getattr(layer, name, None) is None:
                raise ValueError(f"trainable[{number}]: that layer has no {name}")
    return tuple(tuple(n for n in CONSTANTS if n in names_of) for names_of in trainable)
