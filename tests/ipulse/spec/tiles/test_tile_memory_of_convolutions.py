"""The prediction of a tile's memory for convolutions of LIF neurons and pools, by program."""

from __future__ import annotations

import pytest

from ipulse_core.spec.conv_geometry import Planes, conv_geometry
from ipulse_core.spec.conv_memory import TileConvolution, predict_convolution, predict_pool
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.lif.poplar.sparse_ops import conv_lif_op, pooled_spikes_op
from poplar_emulator.custom_op import CustomOp

FACTOR = 1.3  # by which a prediction is wrong at most, in either direction
# height, width, channels, filters, side of the kernel, steps, batch, slots, tiles
SIZES = [
    (8, 8, 1, 6, 3, 8, 4, 64, 16),
    (8, 8, 1, 24, 3, 30, 4, 64, 32),
    (16, 16, 8, 16, 3, 20, 8, 512, 64),
    (10, 10, 4, 64, 3, 10, 4, 100, 256),  # fewer rows than tiles
    (8, 8, 1, 8, 3, 40, 32, 64, 64),  # rows that fill the tiles
    (6, 6, 16, 32, 3, 20, 16, 576, 128),
    (4, 4, 32, 64, 3, 20, 32, 512, 128),  # sums of weights over groups of samples
    (8, 8, 1, 4, 3, 100, 1, 64, 16),  # one sample
    (20, 20, 2, 16, 3, 3, 4, 100, 1472),
]


def bytes_of(op: CustomOp) -> int:
    """Return the bytes of the fullest tile, and unload the op."""
    tiles = op.profile()["compilation"]["tiles"]
    op.close()
    return max(tile["memory"]["total"]["includingGaps"] for tile in tiles)


@pytest.mark.parametrize("sizes", SIZES)
def test_predictions_are_near_what_is_compiled(sizes: tuple[int, ...]) -> None:
    height, width, channels, filters, side, steps, batch, slots, tiles = sizes
    planes = Planes(height, width, channels)
    geometry = conv_geometry(planes, filters, (side, side), pool=(2, 2))
    described = TileConvolution(geometry, slots, steps, batch, tiles)
    layer = ConvLIF(geometry, second_threshold=0.5, bias=True)
    neurons = conv_lif_op(layer, steps, batch, slots, tiles_per_ipu=tiles)
    pool = pooled_spikes_op(geometry, steps, batch, geometry.neurons, tiles_per_ipu=tiles)
    for op, predicted in (
        (neurons, predict_convolution(described)),
        (pool, predict_pool(described)),
    ):
        found = bytes_of(op)
        assert found / FACTOR < predicted.fullest_bytes < found * FACTOR
        assert predicted.least_bytes < found
        assert predicted.tiles_used <= tiles
