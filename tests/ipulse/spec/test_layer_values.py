"""Equations that read layers: their names, what goes together, and where a mistake is."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.spec import parse_spec
from ipulse_core.errors import InvalidSpec, Problem
from ipulse_core.spec.layer_values import (
    equations_of_spec,
    prediction_of_spec,
    reads_hidden_membranes,
    values_read,
)

LAYERS: list[dict[str, Any]] = [{"neurons": 12, "name": "features"}, {"neurons": 10}]
CROSS_ENTROPY = "-sum(label * log_softmax(mean_over_time(membrane)))"


def spec(readout: str = "leaky", data: Any = None, **training: Any) -> Any:
    network = {"layers": LAYERS, "readout": {"kind": readout}}
    more = {} if data is None else {"data": data}
    return parse_spec({"version": 1, "network": network, "training": training, **more})


def loss(text: str, **more: Any) -> dict[str, Any]:
    return {"kind": "equations", "loss": text, **more}


def penalty(text: str, **more: Any) -> dict[str, Any]:
    return {"kind": "equations", "penalty": text, **more}


def refused(**changes: Any) -> list[Problem]:
    with pytest.raises(InvalidSpec) as caught:
        spec(**changes)
    return list(caught.value.problems)


def test_each_name_of_a_layer_is_that_layer() -> None:
    text = f"{CROSS_ENTROPY} + mean(last(features.spikes - layers[0].spikes * layers[0].membrane))"
    found = spec(loss=loss(text))
    assert values_read(found.network, found.training.loss) == {(0, "membrane"), (0, "spikes")}
    read = equations_of_spec(found, found.training.loss)
    assert {value.key for _, value in read.layers} == {"layers[0].spikes", "layers[0].membrane"}
    assert reads_hidden_membranes(found)


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("mean(mean_over_time(layers[1].spikes))", False),
        ("mean(mean_over_time(readout.membrane))", False),
        ("mean(mean_over_time(layers[1].membrane))", True),
    ],
)
def test_membranes_of_hidden_layers_are_asked_for(text: str, needs: bool) -> None:
    assert reads_hidden_membranes(spec(regularisers=[penalty(text)])) is needs


@pytest.mark.parametrize(
    ("readout", "text", "wanted"),
    [
        ("leaky", "sum(label * last(readout.membrane))", "mean_over_time(readout.membrane)"),
        ("spiking", "sum(label * last(readout.membrane))", "mean_over_time(readout.membrane)"),
        ("spiking", "sum(label * last(readout.spikes))", "sum_over_time(readout.spikes)"),
    ],
)
def test_predictions_without_an_equation(readout: str, text: str, wanted: str) -> None:
    assert prediction_of_spec(spec(readout, loss=loss(text))) == wanted


def test_a_spiking_readout_is_compared_with_targets_of_each_step() -> None:
    data = {"kind": "npz", "name": "a", "channels": 8, "steps": 6, "outputs": 2}
    text = "mean_over_time(mean(square(readout.spikes - step_target)))"
    found = spec("spiking", data, loss=loss(text))
    assert prediction_of_spec(found) == "readout.spikes"


@pytest.mark.parametrize(
    ("changes", "pointer", "hint"),
    [
        ({"loss": loss(f"{CROSS_ENTROPY} + mean(last(featurs.spikes))")}, "/loss/loss", "features"),
        ({"loss": loss(f"{CROSS_ENTROPY} + mean(last(features.spike))")}, "/loss/loss", "spikes"),
        ({"loss": loss(f"{CROSS_ENTROPY} + last(layers[2].spikes)")}, "/loss/loss", "layers[1]"),
        ({"loss": loss(f"{CROSS_ENTROPY} + layers[0]")}, "/loss/loss", "layers[0].membrane"),
        ({"loss": loss("sum(label * last(features.spikes))")}, "/loss/loss", "12 neurons"),
        ({"loss": loss("sum(label * last(layers[1].spikes))")}, "/loss/loss", "readout"),
        ({"loss": loss("sum(label * last(readout.spikes))")}, "/loss/loss", "membrane"),
        ({"loss": loss(f"{CROSS_ENTROPY} + last(features.spikes)")}, "/loss/loss", "neuron"),
        (
            {"loss": loss(CROSS_ENTROPY, prediction="mean_over_time(features.spikes)")},
            "/loss/prediction",
            "each class",
        ),
        (
            {
                "loss": loss(
                    f"{CROSS_ENTROPY} + v", values=[{"name": "v", "value": "last(w.spikes)"}]
                )
            },
            "/loss/values/0/value",
            "w.spikes",
        ),
        ({"regularisers": [penalty("1")]}, "/regularisers/0/penalty", "layer"),
        ({"regularisers": [penalty("last(features.spikes)")]}, "/regularisers/0/penalty", "sum"),
        (
            {"regularisers": [penalty("mean(target * last(layers[1].spikes))")]},
            "/regularisers/0/penalty",
            "label",
        ),
        ({"regularisers": [penalty("mean(spike_count)")]}, "/regularisers/0", "readout's spikes"),
        (
            {"regularisers": [penalty("mean(last(membrane))")], "readout": "spiking"}
            | {"loss": "spike_count_mse"},
            "/regularisers/0",
            "leaky readout",
        ),
        ({"regularisers": [penalty("mean(last(x.spikes))")]}, "/regularisers/0/penalty", "layers"),
    ],
)
def test_mistakes_have_a_place(changes: Any, pointer: str, hint: str) -> None:
    problems = refused(**changes)
    found = [problem for problem in problems if problem.pointer == f"/training{pointer}"]
    assert any(hint in problem.detail for problem in found), problems


def test_version_2_reads_the_same_names() -> None:
    layers = [{"neurons": 12, "name": "features", "connections": [{"kind": "dense"}]}]
    training = {"regularisers": [penalty("mean(last(features.spikes + layers[0].spikes))")]}
    found = parse_spec({"version": 2, "network": {"layers": layers}, "training": training})
    (bound,) = found.training.regularisers
    assert values_read(found.network, bound) == {(0, "spikes")}
