"""The kernels refuse what they cannot run, by name, before they run anything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict

import numpy as np
import pytest

from ops.keras import MultiLIF
from ops.lif.cpu.supported import UnsupportedNetwork, check_supported
from ops.lif.network import LIF, LeakyReadout, Network
from ops.lif.tensorflow_op import run_network
from ops.surrogate import ArcTan, SuperSpike

PLAIN = Network(inputs=3, layers=(LIF(4),), readout=LeakyReadout(2), surrogate=SuperSpike(5.0))

UNSUPPORTED: Dict[str, Dict[str, Any]] = {
    "reset subtract": {"reset": "subtract"},
    "reset none": {"reset": "none"},
    "reset_on emission": {"reset_on": "emission"},
    "reset_gradient none": {"reset_gradient": "none"},
    "a readout that spikes": {"readout": LIF(2)},
    "recurrent layers": {"layers": (LIF(4), LIF(4, recurrent=True))},
    "biases": {"readout": LeakyReadout(2, bias=True)},
    "a synapse_decay": {"layers": (LIF(4, synapse_decay=0.5),)},
    "the policy top": {"layers": (LIF(4, capacity=2, policy="top"),)},
    "the policy cyclic": {"layers": (LIF(4, capacity=2, policy="cyclic"),)},
    "the surrogate ArcTan": {"surrogate": ArcTan()},
}


class TestCheckSupported:
    def test_gives_the_surrogate_of_what_runs(self) -> None:
        assert check_supported(PLAIN) == SuperSpike(5.0)
        assert check_supported(replace(PLAIN, reset_gradient="term", delay=1)) == SuperSpike(5.0)

    @pytest.mark.parametrize("lacking", UNSUPPORTED)
    def test_names_what_is_lacking_and_the_cure(self, lacking: str) -> None:
        network = replace(PLAIN, **UNSUPPORTED[lacking])
        message = f"the CPU kernels do not have {lacking}; change .* ops.lif.reference"
        with pytest.raises(UnsupportedNetwork, match=message):
            check_supported(network)

    def test_names_everything_that_is_lacking(self) -> None:
        network = replace(PLAIN, reset="none", surrogate=ArcTan())
        with pytest.raises(UnsupportedNetwork, match="reset none, the surrogate ArcTan;"):
            check_supported(network)


class TestCallers:
    network = replace(PLAIN, reset="subtract")
    weights = (np.zeros((3, 4), np.float32), np.zeros((4, 2), np.float32))
    ids, counts = np.zeros((1, 1, 1), np.int32), np.ones((1, 1), np.int32)

    def test_tensorflow_op_refuses(self) -> None:
        with pytest.raises(UnsupportedNetwork, match="reset subtract"):
            run_network(self.network, self.weights, self.ids, self.counts)

    def test_keras_layer_refuses_when_made(self) -> None:
        with pytest.raises(UnsupportedNetwork, match="biases"):
            MultiLIF(inputs=3, layers=[LIF(4, bias=True)], readout=LeakyReadout(2))
