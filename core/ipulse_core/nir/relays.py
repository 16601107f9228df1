"""Skips with weights of their own: neurons that repeat spikes in the layers between.

A layer of a spec receives the spikes of the layer before, and of earlier ones through the same
weights. Spikes of the input, or with other weights, are repeated in the same step by neurons that
are added to each layer between.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Dict, List, Sequence

import numpy as np

from ipulse_core.nir.errors import NirInvalid
from ipulse_core.nir.hdf5_file import MAX_VALUES
from ipulse_core.nir.layers import ImportedLayer

DECAY, THRESHOLD = 0.0, 0.5  # of neurons that spike where their input does
# The constants of neurons that repeat, for those that their layer has.
_CONSTANTS = {"decay": DECAY, "threshold": THRESHOLD, "synapse_decay": 0.0}


def with_relays(layers: Sequence[ImportedLayer], inputs: int) -> List[ImportedLayer]:
    """Return layers of which each receives the layer before alone.

    Raises:
        NirInvalid: spikes are delayed, or a matrix would be too large.
    """
    last = {source: number for number, layer in enumerate(layers, 1) for source in layer.skips}
    if not last:
        return list(layers)
    if any(layer.delay or "delays" in layer.fields for layer in layers):
        raise NirInvalid(
            "spikes skip layers with weights of their own, and spikes are delayed: a network has "
            "one of the two"
        )
    sizes = [inputs, *(math.prod(layer.shape) for layer in layers)]
    repeated = [
        [source for source in sorted(last) if source < number < last[source]]
        for number in range(len(sizes))
    ]
    found = []
    for number, layer in enumerate(layers, 1):
        before, here = repeated[number - 1], repeated[number]
        if before or here:
            layer = _widened(layer, number, before, here, sizes)
        found.append(layer)
    return found


def _widened(
    layer: ImportedLayer, number: int, before: List[int], here: List[int], sizes: Sequence[int]
) -> ImportedLayer:
    """Return a layer behind neurons that repeat some layers, with neurons that do."""
    inputs, neurons = sizes[number - 1], sizes[number]
    rows = {number - 1: 0}
    for source in before:
        rows[source] = inputs
        inputs += sizes[source]
    more = sum(sizes[source] for source in here)
    if inputs * (neurons + more) > MAX_VALUES:
        raise NirInvalid(
            f"spikes that skip layers are repeated by {more:,} neurons, and the matrix of "
            f"{inputs:,} x {neurons + more:,} weights in front of them is too large"
        )
    name = next(name for name in layer.weights if name in (f"layer_{number}", "readout"))
    matrix = np.zeros((inputs, neurons + more), np.float32)
    own = layer.weights[name]
    matrix[: len(own), :neurons] = own
    for source, weights in layer.skips.items():
        matrix[rows[source] :][: sizes[source], :neurons] = weights
    column = neurons
    for source in here:
        indices = np.arange(sizes[source])
        matrix[rows[source] + indices, column + indices] = 1 / layer.fields["gain"]
        column += sizes[source]
    weights_of = {**layer.weights, name: matrix}
    for other, axes in ((f"{name}_bias", 1), (f"{name}_recurrent", 2)):
        if other in weights_of:
            weights_of[other] = np.pad(weights_of[other], [(0, more)] * axes)
    if not more:
        return replace(layer, weights=weights_of, skips={})
    note = f"{name} also repeats {more:,} spikes that skip it, with weights that are trained"
    return replace(
        layer,
        fields=_repeating(layer.fields, neurons, more),
        shape=(neurons + more,),
        weights=weights_of,
        notes=[*layer.notes, note],
        skips={},
    )


def _repeating(fields: Dict[str, Any], neurons: int, more: int) -> Dict[str, Any]:
    """Return the fields of a layer with more neurons that repeat spikes."""
    changed = {**fields, "neurons": neurons + more}
    for constant, value in _CONSTANTS.items():
        given = fields.get(constant)
        if given is not None:
            own = given if isinstance(given, list) else [given] * neurons
            changed[constant] = [*own, *[value] * more]
    return changed
