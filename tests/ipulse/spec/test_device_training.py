"""A training step on the device refuses fields by their place in the spec."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ipulse.spec import ExperimentSpec
from tests.losses import margin, squared_spikes
from tests.worker.runner.emulated import ipu_spec


def document(network: dict[str, Any], training: dict[str, Any]) -> dict[str, Any]:
    """Return a spec that trains on the device, with these fields changed."""
    found = ipu_spec({"kind": "emulator", "tiles": 8, "training": "device"})
    found["network"] = {**found["network"], **network}
    found["training"] = {**found["training"], **training}
    return found


@pytest.mark.parametrize(
    ("readout", "training"),
    [
        ("leaky", {"loss": "last_membrane_cross_entropy"}),
        ("leaky", {"loss": "max_membrane_cross_entropy"}),
        ("leaky", {"loss": margin()}),
        ("leaky", {"regularisers": [{"kind": "upper", "strength": 1}]}),
        ("spiking", {"loss": "spike_count_mse"}),
        ("spiking", {"loss": squared_spikes()}),
    ],
)
def test_takes_what_the_op_computes(readout: str, training: dict[str, Any]) -> None:
    changed = document({"readout": {"kind": readout}}, training)
    spec = ExperimentSpec.model_validate(changed)
    assert spec.device.kind == "emulator"


@pytest.mark.parametrize(
    ("pointer", "network", "training"),
    [
        (
            "/training/loss",
            {"readout": {"kind": "spiking"}},
            {"loss": "first_spike_cross_entropy"},
        ),
        ("/network/trainable", {"trainable": ["threshold"]}, {}),
        ("/network/layers/0/dropout", {"layers": [{"neurons": 4, "dropout": 0.1}]}, {}),
        ("/network/readout/standardised", {"readout": {"standardised": True}}, {}),
    ],
)
def test_names_the_place_of_what_it_refuses(
    pointer: str, network: dict[str, Any], training: dict[str, Any]
) -> None:
    changed = document(network, training)
    with pytest.raises(ValidationError) as caught:
        ExperimentSpec.model_validate(changed)
    (error,) = caught.value.errors()
    assert "/".join(["", *map(str, error["loc"])]) == pointer
    assert error["msg"].endswith("device.training to host")
    changed["device"]["training"] = "host"
    ExperimentSpec.model_validate(changed)


def test_states_of_ipus_are_rounded_if_they_are_half() -> None:
    changed = document({}, {})
    changed["device"] = {"kind": "ipu", "stochastic_rounding": True}
    with pytest.raises(ValidationError, match="set states_dtype to float16"):
        ExperimentSpec.model_validate(changed)
    changed["device"].update(states_dtype="float16", memory="recompute")
    ExperimentSpec.model_validate(changed)


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("weights_dtype", {"training": "host", "weights_dtype": "float16"}),
        ("stochastic_rounding", {"stochastic_rounding": True}),
    ],
)
def test_types_of_weights_and_states_fit_the_training(name: str, device: dict[str, Any]) -> None:
    changed = document({}, {})
    changed["device"].update(device)
    with pytest.raises(ValidationError) as caught:
        ExperimentSpec.model_validate(changed)
    assert [error["loc"] for error in caught.value.errors()] == [("device", name)]
    for half in ("weights_dtype", "states_dtype"):
        fitting = document({}, {})
        fitting["device"].update({half: "float16", "stochastic_rounding": True})
        ExperimentSpec.model_validate(fitting)
