"""Rules between fields of a spec, each of which is valid by itself."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.spec import parse_spec
from ipulse_core.errors import InvalidSpec
from tests.ipulse.spec_documents import assert_refused, changed, problems_of

LAYER = "/network/layers/0"
SPIKING = {"kind": "spiking"}


MISFITS: dict[str, tuple[dict[str, Any], str, str]] = {
    "spikes counted of a readout without any": (
        {"/training/loss": "spike_count_mse"},
        "/training/loss",
        "network.readout.kind to spiking",
    ),
    "a membrane loss of a readout that spikes": (
        {"/network/readout": SPIKING},
        "/training/loss",
        "choose spike_count_cross_entropy or spike_count_mse",
    ),
    "fewer output slots than classes": (
        {
            "/network/readout": {**SPIKING, "capacity": 4},
            "/training/loss": "spike_count_cross_entropy",
        },
        "/network/readout/capacity",
        "remove it",
    ),
    "targets of a loss that has none": (
        {"/training/spike_targets": {"right": 5}},
        "/training/spike_targets",
        "remove them",
    ),
    "a wrong neuron that should spike more": (
        {"/training/spike_targets": {"right": 5, "wrong": 5}},
        "/training/spike_targets/wrong",
        "must be below right (5)",
    ),
    "weights of a width that there is not": (
        {f"{LAYER}/quantisation": {"bits": 2}},
        f"{LAYER}/quantisation/bits",
        "",
    ),
    "a delay beyond the sample": (
        {"/data": {"steps": 10}, f"{LAYER}/delay": 10},
        f"{LAYER}/delay",
        "within the 10 steps",
    ),
    "a delay of all layers beyond the sample": (
        {"/data": {"steps": 10}, "/network/delay": 11},
        "/network/delay",
        "within the 10 steps",
    ),
    "delays that add up beyond the sample": (
        {"/data": {"steps": 10}, "/network/readout/delay": 6, f"{LAYER}/delay": 4},
        "/network/readout/delay",
        "take 10 steps to /network/readout",
    ),
    "truncated gradients of delayed spikes": (
        {"/training/truncate_steps": 5, "/network/delay": 1},
        "/training/truncate_steps",
        "where spikes are delayed: remove it",
    ),
    "a policy without a capacity": (
        {f"{LAYER}/policy": "top"},
        f"{LAYER}/policy",
        "set a capacity",
    ),
    "growth beyond the neurons": (
        {f"{LAYER}/capacity": {"grow": 9}},
        f"{LAYER}/capacity/grow",
        "must not be above neurons (8)",
    ),
    "growth that ends before it begins": (
        {f"{LAYER}/capacity": {"grow": 4, "most": 3}},
        f"{LAYER}/capacity/most",
        "must not be below grow (4)",
    ),
    "one second threshold above its neuron's threshold": (
        {
            f"{LAYER}/threshold": [1.0] * 8,
            f"{LAYER}/second_threshold": [0.5] * 7 + [1.5],
        },
        f"{LAYER}/second_threshold",
        "must not be above the layer's threshold",
    ),
    "reset on emission where every spike is emitted": (
        {"/network/reset_on": "emission"},
        "/network/reset_on",
        "set a capacity",
    ),
    "the gradient of no reset": (
        {"/network/reset": "none", "/network/reset_gradient": "term"},
        "/network/reset_gradient",
        "without a reset",
    ),
    "a constant trained twice": (
        {"/network/trainable": ["decay", "threshold", "decay"]},
        "/network/trainable/2",
        "decay is listed already",
    ),
    "a synapse trained that is not there": (
        {"/network/trainable": ["synapse_decay"]},
        "/network/trainable/0",
        "set one",
    ),
    "an adaptation trained that is not there": (
        {"/network/trainable": ["threshold", "adaptation_decay"]},
        "/network/trainable/1",
        "set one",
    ),
    "an addition of the previous layer": (
        {"/network/readout": {"residual": [1]}},
        "/network/readout/residual/0",
        "no such layers",
    ),
    "an addition of a layer of another width": (
        {
            "/network/layers": [{"neurons": 8}, {"neurons": 9}],
            "/network/readout": {"residual": [1]},
        },
        "/network/readout/residual/0",
        "neuron by neuron",
    ),
    "an addition twice": (
        {
            "/network/layers": [{"neurons": 8}, {"neurons": 8}],
            "/network/readout": {"residual": [1, 1]},
        },
        "/network/readout/residual/1",
        "listed already",
    ),
    "adaptive thresholds for a simulator": (
        {
            "/network/layers/0/adaptation": {},
            "/export": {"nir": [{"target": "norse"}]},
        },
        "/export/nir/0/target",
        "NIR has no neurons",
    ),
    "a ramp to no second threshold": (
        {"/training/second_threshold_ramp": {"epochs": 3}},
        "/training/second_threshold_ramp",
        "set one",
    ),
    "a ramp longer than the training": (
        {
            f"{LAYER}/second_threshold": 0.5,
            "/training/epochs": 3,
            "/training/second_threshold_ramp": {"epochs": 4},
        },
        "/training/second_threshold_ramp/epochs",
        "within the training (3 epochs)",
    ),
    "a bound of a layer that is not there": (
        {"/training/regularisers": [{"kind": "upper", "layers": [1, 2]}]},
        "/training/regularisers/0/layers/1",
        "there are 1 hidden layers",
    ),
    "nesterov without momentum": (
        {"/training/optimizer": {"kind": "sgd", "momentum": 0, "nesterov": True}},
        "/training/optimizer/nesterov",
        "needs a momentum",
    ),
    "a table without its width": (
        {"/network/surrogate": {"name": "table", "values": [0, 1]}},
        "/network/surrogate/width",
        "required",
    ),
    "a slope of a boxcar": (
        {"/network/surrogate": {"name": "boxcar", "slope": 3}},
        "/network/surrogate/slope",
        "the fields here are name, half_width",
    ),
    "one number of a table": (
        {"/network/surrogate": {"name": "table", "values": [1], "width": 1}},
        "/network/surrogate/values",
        "must have at least 2 items; got 1",
    ),
}


class TestBetweenFields:
    def test_a_second_threshold_above_the_first(self) -> None:
        document = changed("/network/layers/0/second_threshold", 1.5)
        assert problems_of(document) == [("/network/layers/0/second_threshold", "inconsistent")]

    def test_a_second_threshold_equal_to_the_first_is_allowed(self) -> None:
        spec = parse_spec(changed("/network/layers/0/second_threshold", 1.0))
        assert spec.network.layers[0].second_threshold == 1.0

    def test_more_capacity_than_neurons(self) -> None:
        document = changed("/network/layers/0/capacity", 9)
        assert problems_of(document) == [("/network/layers/0/capacity", "inconsistent")]

    def test_more_weights_than_memory(self) -> None:
        document = changed("/network/layers", [{"neurons": 65_535}, {"neurons": 65_535}])
        assert problems_of(document) == [("/network/layers", "too_large")]

    def test_a_step_larger_than_memory_names_what_to_reduce(self) -> None:
        document = changed("/training/batch_size", 65_536)
        document["data"] = {"steps": 10_000}
        with pytest.raises(InvalidSpec, match="use a smaller batch"):
            parse_spec(document)

    @pytest.mark.parametrize(("changes", "pointer", "hint"), MISFITS.values(), ids=MISFITS.keys())
    def test_inconsistent_fields_are_refused_with_place_and_hint(
        self, changes: dict[str, Any], pointer: str, hint: str
    ) -> None:
        assert_refused(changes, pointer, hint)

    def test_a_list_has_a_number_for_each_neuron(self) -> None:
        for name in ("decay", "threshold", "second_threshold", "synapse_decay"):
            place = f"/network/layers/0/{name}"
            assert problems_of(changed(place, [0.5] * 7)) == [(place, "wrong_length")]
            parsed = parse_spec(changed(place, [0.5] * 8)).network.layers[0]
            assert getattr(parsed, name) == (0.5,) * 8
        for name in ("strength", "decay"):
            given = changed("/network/layers/0/adaptation", {name: [0.5] * 7})
            assert problems_of(given) == [(f"/network/layers/0/adaptation/{name}", "wrong_length")]
        place = "/network/readout/decay"
        assert problems_of(changed(place, [0.5] * 8)) == [(place, "wrong_length")]

    def test_spikes_take_the_shortest_way_within_a_sample(self) -> None:
        layers = [{"neurons": 8}] * 3
        network = {"layers": layers, "readout": {"residual": [1]}, "delay": 4}
        document = {"version": 1, "data": {"steps": 9}, "network": network}
        assert parse_spec(document).network.delay == 4  # they arrive after 0, 4, 8 and 4 steps
        found = problems_of({**document, "data": {"steps": 8}})
        assert found == [("/network/delay", "inconsistent")]
