"""Predicts the memory of the fullest tile of a layer with equations, which is a program of its own.

Its vertices are on the tiles where ops/ipulse_ops/equations/poplar/graph.cpp puts them;
tests/ipulse/spec/tiles/test_tile_memory_of_parts.py compares both.
"""

from __future__ import annotations

from typing import NamedTuple

from ipulse_core.spec.tile_memory import MemoryPrediction
from ipulse_core.spec.tile_placement import divide_up

_WORD = 4  # bytes
_OTHER_BYTES = 13_000  # stacks, code and exchange code of a tile
_BY_STEP = 6  # currents, values of `spike`, their gradients, and what is sent and received of them
_RECURRENT_BY_STEP = 8  # in addition the total current and its gradient


class TileEquations(NamedTuple):
    """A layer with equations as its Poplar program sees it."""

    neurons: int
    states: int
    parameters: int
    own_weights: int  # numbers of the recurrent weights; 0: it is not recurrent
    steps: int
    batch: int
    tiles: int


def predict_equations(layer: TileEquations) -> MemoryPrediction:
    """Return the prediction for a layer."""
    most = 1 if layer.own_weights else layer.neurons  # parts of a sample
    parts = max(1, min(most, layer.tiles // layer.batch))
    neurons = divide_up(layer.neurons, parts) * divide_up(layer.batch * parts, layer.tiles)
    by_step = _RECURRENT_BY_STEP if layer.own_weights else _BY_STEP
    # States and their gradients, parameters and their gradients, and what states carry back.
    each = by_step * layer.steps + 2 * (layer.steps + 1) * layer.states
    each += 2 * layer.parameters + layer.states
    words = each * neurons + layer.own_weights
    # The values of `spike` and the states of all steps are stored, however they are spread.
    kept = layer.steps + (layer.steps + 1) * layer.states
    least = _WORD * kept * layer.neurons * layer.batch // layer.tiles
    used = min(layer.tiles, layer.batch * parts)
    return MemoryPrediction(_WORD * words + _OTHER_BYTES, used, least)
