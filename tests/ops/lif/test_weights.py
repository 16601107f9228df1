"""The flat sequence of weights and its layers."""

from __future__ import annotations

import numpy as np
import pytest

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.weights import WeightShape, by_layer, flat, weight_shapes

NETWORK = Network(
    inputs=3,
    layers=(LIF(4, recurrent=True), LIF(5, bias=True)),
    readout=LIF(2, recurrent=True, bias=True),
)


class TestWeightShapes:
    def test_name_every_array_in_order(self) -> None:
        assert weight_shapes(NETWORK) == (
            WeightShape(0, "input", (3, 4)),
            WeightShape(0, "recurrent", (4, 4)),
            WeightShape(1, "input", (4, 5)),
            WeightShape(1, "bias", (5,)),
            WeightShape(2, "input", (5, 2)),
            WeightShape(2, "recurrent", (2, 2)),
            WeightShape(2, "bias", (2,)),
        )

    def test_of_a_plain_network_are_its_matrices(self) -> None:
        network = Network(inputs=3, layers=(LIF(4), LIF(5)), readout=LeakyReadout(2))
        assert [expected.shape for expected in weight_shapes(network)] == [(3, 4), (4, 5), (5, 2)]


class TestByLayer:
    weights = tuple(
        np.full(expected.shape, number) for number, expected in enumerate(weight_shapes(NETWORK))
    )

    def test_and_back_is_the_same(self) -> None:
        layers = by_layer(NETWORK, self.weights)
        again = flat(layers)
        assert len(again) == len(self.weights)
        assert all(map(np.array_equal, again, self.weights))
        assert {array.dtype for array in again} == {np.dtype(np.float64)}

    def test_has_none_where_a_layer_has_no_such_weights(self) -> None:
        first, second, readout = by_layer(NETWORK, self.weights)
        assert first.bias is second.recurrent is None
        assert readout.recurrent is not None
        assert readout.bias is not None

    def test_refuses_missing_weights_and_names_wrong_ones(self) -> None:
        with pytest.raises(ValueError, match="the network needs 7 weights; got 6"):
            by_layer(NETWORK, self.weights[:-1])
        wrong = (self.weights[0], np.zeros((4, 5)), *self.weights[2:])
        with pytest.raises(
            ValueError,
            match=r"weights\[1\] must have shape \(4, 4\); got \(4, 5\) \(recurrent weights of lay",
        ):
            by_layer(NETWORK, wrong)
