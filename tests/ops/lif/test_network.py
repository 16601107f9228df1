"""Valid and invalid networks."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np
import pytest

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.neuron_constants import per_neuron


def network(**changed: Any) -> Network:
    fields: Dict[str, Any] = {"inputs": 3, "layers": (LIF(4), LIF(5)), "readout": LeakyReadout(2)}
    return Network(**{**fields, **changed})


class TestNetwork:
    def test_sizes_run_from_input_to_readout(self) -> None:
        assert network().sizes == (3, 4, 5, 2)

    def test_readout_may_spike(self) -> None:
        assert [layer.neurons for layer in network().spiking] == [4, 5]
        assert [layer.neurons for layer in network(readout=LIF(2)).spiking] == [4, 5, 2]

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"inputs": 0}, "inputs must be at least 1; got 0"),
            ({"inputs": 3.0}, "inputs must be a whole number; got 3.0"),
            ({"layers": ()}, "at least one hidden layer"),
            ({"reset": "one"}, "reset must be zero, subtract or none; got one"),
            ({"reset_gradient": "some"}, "reset_gradient must be mask, term or none; got some"),
            ({"reset_on": "spike"}, "reset_on must be state or emission; got spike"),
            ({"delay": -1}, "delay must be 0 to 65535; got -1"),
            ({"delay": (0, 65_536, 1)}, "delay must be 0 to 65535; got 65536"),
            ({"delay": 1.5}, "delay must be a whole number; got 1.5"),
            ({"delay": (1, 2)}, "one for each of 3 layers"),
        ],
    )
    def test_refuses_what_does_not_exist(self, changed: Dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            network(**changed)


class TestLIF:
    def test_has_a_slot_per_neuron_without_a_capacity(self) -> None:
        assert LIF(7).slots == 7
        assert LIF(7, capacity=3).slots == 3

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"neurons": 0}, "neurons must be at least 1; got 0"),
            ({"neurons": "3"}, "neurons must be a whole number; got '3'"),
            ({"neurons": True}, "neurons must be a whole number; got True"),
            ({"recurrent": "no"}, "recurrent must be True or False; got 'no'"),
            ({"bias": 1}, "bias must be True or False; got 1"),
            ({"gain": 1e39}, "gain must be finite, also as float32"),
            ({"capacity": 2.5}, "capacity must be a whole number; got 2.5"),
            ({"capacity": 0}, "capacity must be 1 to 3; got 0"),
            ({"decay": "slow"}, "decay must be one number or 3; got 'slow'"),
            ({"capacity": 4}, "capacity must be 1 to 3; got 4"),
            ({"decay": 1.001}, "decay must be at least 0 and at most 1"),
            ({"decay": [0.5, -0.1, 0.5]}, "decay must be at least 0 and at most 1"),
            ({"decay": [0.5, 0.5]}, r"decay must be one number or shape \(3,\); got \(2,\)"),
            ({"threshold": np.nan}, "threshold must be finite"),
            ({"gain": np.inf}, "gain must be finite"),
            ({"second_threshold": 1.5}, "second_threshold must not be above threshold"),
            ({"second_threshold": [0.5, 0.5, 1.5]}, "must not be above threshold"),
            ({"second_threshold": -np.inf}, "second_threshold must be finite"),
            ({"synapse_decay": 1.0}, "synapse_decay must be at least 0 and less than 1"),
            ({"synapse_decay": [0.5]}, r"synapse_decay must be one number or shape \(3,\)"),
            ({"adaptation_strength": 0.5}, "must be set together"),
            ({"adaptation_decay": 0.5}, "must be set together"),
            ({"detach_adaptation": True}, "needs an adaptation_strength"),
            (
                {"adaptation_strength": -0.5, "adaptation_decay": 0.5},
                "adaptation_strength must be at least 0",
            ),
            (
                {"adaptation_strength": 0.5, "adaptation_decay": 1.0},
                "adaptation_decay must be at least 0 and less than 1",
            ),
            ({"policy": "random"}, "policy must be index, cyclic or top; got random"),
        ],
    )
    def test_refuses_impossible_constants(self, fields: Dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            LIF(**{"neurons": 3, **fields})

    def test_second_threshold_may_equal_the_threshold(self) -> None:
        assert LIF(3, threshold=0.5, second_threshold=0.5).second_threshold == 0.5


class TestLeakyReadout:
    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"neurons": 0}, "neurons must be at least 1; got 0"),
            ({"decay": 1.5}, "decay must be at least 0 and at most 1"),
            ({"gain": [1.0]}, r"gain must be one number or shape \(3,\); got \(1,\)"),
            ({"synapse_decay": -0.5}, "synapse_decay must be at least 0 and less than 1"),
        ],
    )
    def test_refuses_impossible_constants(self, fields: Dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            LeakyReadout(**{"neurons": 3, **fields})


class TestPerNeuron:
    def test_spreads_one_number(self) -> None:
        assert per_neuron(0.5, 3, "decay").tolist() == [0.5, 0.5, 0.5]

    def test_keeps_an_array(self) -> None:
        values = per_neuron(np.array([1, 2], dtype=np.float32), 2, "gain")
        assert values.tolist() == [1.0, 2.0]
        assert values.dtype == np.float64
