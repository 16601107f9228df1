"""The reference's gradients of one neuron, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference.network_pass import backward, forward
from ipulse_ops.surrogate import SuperSpike


class TestOneNeuronByHand:
    # u = 0.75, 1.125, 0.75 against threshold 1, as in the forward test; one spike, at step 1.
    # slope 4: phi = 1/4, 4/9, 1/4. Loss = membrane at the last step, with weight 1:
    # dL/dI of the readout is 1/4, 1/2, 1 at the three steps.
    @pytest.mark.parametrize(
        ("reset_gradient", "delay", "expected"),
        [
            # phi e = 1/16, 2/9, 1/4
            # lambda = 1/16 + 2/9 / 2, 2/9 + 0 (it was reset), 1/4
            ("mask", 0, 31 / 48),
            # lambda = 1/16 + 25/72 / 2, 2/9 + 1/4 / 2, 1/4
            ("term", 0, 5 / 6),
            # A spike at the last step arrives never: phi e = 1/4 1/2, 4/9 1, 0
            # lambda = 1/8 + 4/9 / 2, 4/9, 0
            ("mask", 1, 57 / 72),
            ("term", 1, 57 / 72),
        ],
    )
    def test_gradients(self, reset_gradient: str, delay: int, expected: float) -> None:
        network = Network(
            inputs=1,
            layers=(LIF(neurons=1, decay=0.5, threshold=1.0, gain=2.0),),
            readout=LeakyReadout(neurons=1, decay=0.5, gain=2.0),
            reset_gradient=reset_gradient,
            delay=delay,
            surrogate=SuperSpike(slope=4.0),
        )
        weights = [np.array([[0.75]]), np.array([[1.0]])]
        ids, counts = np.zeros((3, 1, 1), int), np.ones((3, 1), int)
        trace = forward(network, weights, ids, counts)
        grad_membrane = np.array([[[0.0]], [[0.0]], [[1.0]]])
        actual = backward(network, weights, ids, counts, trace, grad_membrane)
        assert actual.weights[0].item() == pytest.approx(expected, rel=1e-15)
        assert actual.weights[1].item() == (0.5 if delay == 0 else 1.0)
        # The input spikes at every step, so the two gradients sum over the same lambda.
        assert actual.inputs.sum() == pytest.approx(0.75 * expected, rel=1e-15)
