"""Losses with equations on IPUs: all that the device computes, and no other."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ipulse.spec import ExperimentSpec
from tests.losses import loss_document, margin, squared_spikes
from tests.worker.runner.emulated import ipu_spec


def document(loss: Any, readout: str) -> dict[str, Any]:
    found = ipu_spec({"kind": "ipu"})
    found["network"] = {**found["network"], "readout": {"kind": readout}}
    found["training"] = {**found["training"], "loss": loss}
    return found


def test_takes_losses_of_membranes_and_spike_counts() -> None:
    for loss, readout in ((margin(), "leaky"), (squared_spikes(), "spiking")):
        ExperimentSpec.model_validate(document(loss, readout))


def test_refuses_times_of_first_spikes() -> None:
    loss = loss_document("-sum(label * log_softmax(-first_spike / 5))")
    with pytest.raises(ValidationError) as caught:
        ExperimentSpec.model_validate(document(loss, "spiking"))
    (error,) = caught.value.errors()
    assert error["loc"] == ("training", "loss")
