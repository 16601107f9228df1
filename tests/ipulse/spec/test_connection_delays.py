"""Delays of connections that do not fit the network, the training or the device."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.spec import parse_spec
from ipulse_core.errors import InvalidSpec
from tests.ipulse.spec_documents import assert_refused, changed

LAYER = "/network/layers/0"
SYNAPSES = {"longest": 3}
NEURONS = {"per": "neuron", "longest": 3}

MISFITS: dict[str, tuple[dict[str, Any], str, str]] = {
    "delays on IPUs": (
        {f"{LAYER}/delays": SYNAPSES, "/device": {"kind": "ipu"}},
        f"{LAYER}/delays",
        "on ipu",
    ),
    "more senders than ids on tiles can tell apart": (
        {
            f"{LAYER}/delays": {"longest": 1200},
            "/data": {"kind": "digits", "steps": 2000},
            "/device": {"kind": "emulator"},
        },
        f"{LAYER}/delays/longest",
        "of at most 65,53",
    ),
    "rounded weights": (
        {
            "/network/readout": {"delays": NEURONS},
            "/device": {"kind": "cpu", "weights_dtype": "bfloat16"},
        },
        "/network/readout/delays",
        "float32",
    ),
    "a delay of the layer, too": (
        {f"{LAYER}/delays": SYNAPSES, f"{LAYER}/delay": 1},
        f"{LAYER}/delay",
        "remove one",
    ),
    "delays as long as a sample": (
        {f"{LAYER}/delays": {"longest": 500}, "/data": {"kind": "digits", "steps": 100}},
        f"{LAYER}/delays/longest",
        "at most 99",
    ),
    "too much memory": (
        {
            "/network/layers": [{"neurons": 4000, "delays": {"longest": 499}}],
            "/data": {"kind": "digits", "steps": 500},
        },
        f"{LAYER}/delays/longest",
        "MiB",
    ),
    "too many delays of many senders": (
        {
            "/network/layers": [{"neurons": 4302}, {"neurons": 2, "delays": {"longest": 5000}}],
            "/data": {"kind": "poisson", "steps": 6000, "samples_per_class": 20},
            "/training/batch_size": 1,
        },
        "/network/layers/1/delays/longest",
        "16,777,216",
    ),
    "too many weights with delays of neurons": (
        {"/network/layers": [{"neurons": 8000}, {"neurons": 8000, "delays": NEURONS}]},
        "/network/layers/1/delays",
        "fewer neurons",
    ),
    "truncated gradients": (
        {f"{LAYER}/delays": SYNAPSES, "/training/truncate_steps": 5},
        f"{LAYER}/delays",
        "truncated",
    ),
    "a learning rate of constants": (
        {f"{LAYER}/delays": {**SYNAPSES, "learning_rate_factor": 2}},
        f"{LAYER}/delays/learning_rate_factor",
        "not trained",
    ),
    "rounding of whole steps": (
        {f"{LAYER}/delays": {**SYNAPSES, "rounded": True}},
        f"{LAYER}/delays/rounded",
        "whole steps",
    ),
    "delays between steps in NIR": (
        {f"{LAYER}/delays": NEURONS, "/export": {"nir": [{"target": "generic"}]}},
        "/export/nir/0/target",
        "rounded",
    ),
}


@pytest.mark.parametrize(("changes", "pointer", "hint"), MISFITS.values(), ids=MISFITS.keys())
def test_misfits_are_refused_with_place_and_hint(
    changes: dict[str, Any], pointer: str, hint: str
) -> None:
    assert_refused(changes, pointer, hint)


def test_rounded_delays_of_neurons_are_exported() -> None:
    document = changed(f"{LAYER}/delays", {**NEURONS, "rounded": True})
    document["export"] = {"nir": [{"target": "generic"}]}
    assert parse_spec(document).network.layers[0].delays.rounded


def test_delays_are_compared_with_the_steps_of_an_upload_once_they_are_known() -> None:
    document = changed(f"{LAYER}/delays", SYNAPSES)
    document["data"] = {"kind": "npz", "dataset": "spikes"}
    assert parse_spec(document).data.steps == 0  # as many as the data set has
    document["data"]["steps"] = 3
    with pytest.raises(InvalidSpec) as refused:
        parse_spec(document)
    assert [each.pointer for each in refused.value.problems] == [f"{LAYER}/delays/longest"]
