"""Predicts the memory of the fullest tile of a convolution of LIF neurons and of its pool.

Both are programs of their own. Their vertices are on the tiles where ops/ipulse_ops/lif/poplar/conv
puts them; tests/ipulse/spec/tiles/test_tile_memory_of_convolutions.py compares both.
"""

from __future__ import annotations

from typing import NamedTuple, Tuple

from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_core.spec.tile_memory import MemoryPrediction
from ipulse_core.spec.tile_placement import divide_up

_WORD = 4  # bytes
_OTHER_BYTES = 22_000  # stacks, code and exchange code of a tile
_POOL_BYTES = 14_000  # the same for a pool
_PIECE = 12_288  # words that a vertex copies to its tile at once, unless one row is more
_WORKERS = 6
_WIDE = 4_096  # words of the rows of a tile that other tiles could have
_GROUPS = 16  # of samples, whose gradients of weights are summed apart


class TileConvolution(NamedTuple):
    """A convolution of LIF neurons as its Poplar programs see it."""

    geometry: ConvGeometry
    slots: int  # spikes of a sample and step that come in
    steps: int
    batch: int
    tiles: int

    @property
    def rows(self) -> int:
        """The lists of spikes: one for each sample and step."""
        return self.steps * self.batch


def predict_convolution(layer: TileConvolution) -> MemoryPrediction:
    """Return the prediction for the neurons."""
    geometry, rows, tiles = layer.geometry, layer.rows, layer.tiles
    together = max(1, min(_WORKERS, _WIDE // geometry.neurons))  # rows, before another tile
    holders = min(tiles, divide_up(rows, together))  # of lists
    lists = divide_up(rows, holders) * geometry.neurons
    positions = geometry.size[0] * geometry.size[1]
    bands = _share(positions, layer.batch, tiles)
    band = layer.steps * geometry.filters * divide_up(positions, bands)
    band *= divide_up(layer.batch * bands, tiles)  # membranes, and their gradients
    given = rows * (geometry.neurons + 2 * layer.slots) // tiles
    stays = rows % tiles == 0 and holders == tiles  # gradients of lists are where lists are
    scattered = lists if stays else 2 * lists
    stages = (_forward(layer), scattered, *_products(layer, band), _slots(layer, band))
    words = lists + given + 2 * band + max(stages)
    used = min(tiles, max(layer.batch * bands, holders))
    return MemoryPrediction(_WORD * words + _OTHER_BYTES, used, _least(layer))


def predict_pool(layer: TileConvolution) -> MemoryPrediction:
    """Return the prediction for the pool, which stores the lists of its rows."""
    rows, tiles = layer.rows, layer.tiles
    own = divide_up(rows, tiles)
    lists = 4 * own * layer.geometry.neurons  # ids, gradients, and both behind the pool
    given = 0 if rows % tiles == 0 else 2 * rows * layer.geometry.neurons // tiles
    marks = min(_WORKERS, own) * layer.geometry.pooled.sites  # of both passes, of half a word
    words = lists + given + marks
    return MemoryPrediction(_WORD * words + _POOL_BYTES, min(rows, tiles), _least(layer))


def _forward(layer: TileConvolution) -> int:
    """Return the words that a tile receives for the membranes: weights, and the slots of steps."""
    steps = min(layer.steps, max(1, _PIECE // layer.slots))
    return _weights(layer.geometry) + steps * (layer.slots + 2)


def _products(layer: TileConvolution, band: int) -> Tuple[int, int]:
    """Return the words of the products that weights receive, and of their sum over groups."""
    geometry, tiles = layer.geometry, layer.tiles
    height, width, _, filters = geometry.weights
    groups = min(_GROUPS, layer.batch)
    parts = _share(divide_up(filters, 2), groups, tiles)
    taps = _share(height * width, groups * parts, tiles)
    sums = divide_up(_weights(geometry), parts * taps)
    row = geometry.neurons // filters * divide_up(filters, parts) + layer.slots
    rows = layer.steps * divide_up(layer.batch, groups)
    received = min(rows, max(1, _PIECE // row)) * row
    return (2 if parts > 1 else 1) * band + sums + received, band + (groups + 2) * sums


def _slots(layer: TileConvolution, band: int) -> int:
    """Return the words of the gradients of slots: outputs in pieces, and the weights."""
    geometry, own = layer.geometry, divide_up(layer.rows, layer.tiles)
    line = geometry.size[1] * geometry.filters
    fitting = _PIECE // geometry.neurons
    piece = min(own, fitting) * geometry.neurons if fitting else max(_PIECE // line, 1) * line
    return band + _weights(geometry) + piece + 2 * own * layer.slots


def _share(most: int, pieces: int, tiles: int) -> int:
    """Return over how many tiles each of these pieces of work is spread."""
    return max(1, min(most, tiles // pieces))


def _weights(geometry: ConvGeometry) -> int:
    height, width, channels, filters = geometry.weights
    return height * width * channels * filters


def _least(layer: TileConvolution) -> int:
    """Return the bytes that no placement avoids: a list is on one tile, and all are stored."""
    neurons = layer.geometry.neurons
    return _WORD * max(neurons, layer.rows * neurons // layer.tiles)
