"""The capability table: complete, and the same as what is accepted and refused at submission."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ipulse.spec import parse_spec
from ipulse_core.errors import InvalidSpec, Problem
from ipulse_core.registry.absent import ABSENT, OTHERWISE
from ipulse_core.registry.features import FEATURES
from ipulse_core.registry.kinds import DEVICES, LAYER_KINDS, LayerKind, parts
from ipulse_core.registry.refusals import REFUSALS, Refusal, refusals
from ipulse_core.registry.table import RUNS, Cell, cells
from tests.capability_documents import document_of, place_of

# Fields that every kind of layer, network, training or device has, or that change no computation.
EVERYWHERE = {
    *(
        "kind",
        "name",
        "neurons",
        "filters",
        "kernel_size",
        "strides",
        "padding",
        "dilation_rate",
        "groups",
    ),
    *("decay", "gain", "threshold", "op", "attributes"),
    *("layers", "readout", "initial", "initial_membrane_std"),
    *("epochs", "batch_size", "augmentation", "optimizer", "schedule", "spike_targets"),
    *("first_spike_ms", "early_stopping", "checkpoint_epochs"),
    *(
        "where",
        "pool",
        "threads",
        "split",
        "mapping",
        "stochastic_rounding",
        "acquire_poll_seconds",
    ),
    *("acquire_poll_seconds", "acquire_timeout_seconds"),
    *("steps_per_execution", "engine_options", "architecture", "tiles"),
    *("device_id", "poplar_flags", "pvti_options", "host_link", "host_bytes_per_second"),
    "host_latency_seconds",
}


def refused(document: object) -> list[Problem]:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(document)
    return list(caught.value.problems)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", LAYER_KINDS)
def test_a_submission_is_judged_as_the_table_says(kind: str, device: str) -> None:
    for cell in cells():
        if (cell.kind, cell.device) == (kind, device):
            check(cell)


def check(cell: Cell) -> None:
    document = document_of(cell.feature, cell.kind, cell.device)
    where = (cell.feature, cell.kind, cell.device)
    if (cell.feature, cell.kind) in ABSENT and FEATURES[cell.feature].place == "layer":
        if cell.feature != "parameters":  # of own neurons, which make it another kind
            refused(document)
    elif cell.refusal is not None:
        problems = refused(document)
        place = cell.refusal.at or place_of(cell.refusal.feature, document, cell.kind)
        found = [problem for problem in problems if problem.pointer == place]
        assert [problem.code for problem in found] == [cell.refusal.code], (where, problems)
        assert without_values(found[0].detail) == cell.reason, where
    elif cell.verdict == RUNS or is_accepted_otherwise(cell):
        try:
            parse_spec(document)
        except InvalidSpec as error:
            pytest.fail(f"{where} is refused: {error}")
    else:
        place = place_of(cell.feature, document, cell.kind)
        pointers = [problem.pointer for problem in refused(document)]
        assert any(pointer.startswith(place) for pointer in pointers), (where, pointers)


def without_values(detail: str) -> str:
    """Returns a message as the table has it, which knows no spec."""
    return re.sub(r"; got [^:]*", "", detail).replace("/network/layers/0", "a layer")


def is_accepted_otherwise(cell: Cell) -> bool:
    """Returns whether a spec may ask for what the layer has in another form, for other layers."""
    return cell.verdict == OTHERWISE and FEATURES[cell.feature].place != "device"


def test_each_field_of_a_layer_or_device_is_a_feature_or_runs_everywhere() -> None:
    """A new field is refused nowhere until somebody decides in the table where it runs."""
    names = {feature.root for feature in FEATURES.values()} | EVERYWHERE
    names |= {"neuron", "gate"}  # kinds of neurons
    kinds = [kind.part for kind in LAYER_KINDS.values()]
    devices = [device.part for device in DEVICES.values()]
    for part in (*kinds, *devices, "NetworkSpec", "TrainingSpec"):
        assert set(parts()[part]) <= names, part


def test_a_kind_has_the_field_of_a_feature_or_the_reason_why_not() -> None:
    for feature in FEATURES.values():
        if feature.place != "layer":
            continue
        for kind in LAYER_KINDS.values():
            absence = ABSENT.get((feature.name, kind.name))
            if absence is None:
                assert has_field(feature.root, kind), (feature.name, kind.name)
            elif absence.cause != OTHERWISE and feature.name != "per_neuron":
                assert not has_field(feature.root, kind), (feature.name, kind.name)


def has_field(name: str, kind: LayerKind) -> bool:
    """Returns whether a kind of layer has a field; own neurons have parameters for constants."""
    return name in kind.fields or (name == "decay" and "neuron" in kind.fields)


def test_a_readout_that_spikes_is_refused_once_for_its_loss() -> None:
    document = document_of("first_spikes", "spiking", "emulator", "device_training")
    (problem,) = refused(document)
    assert problem.pointer == "/training/loss"
    assert problem.detail.endswith("device.training to host")


@pytest.mark.parametrize("device", ["ipu", "emulator"])
def test_a_regulariser_of_first_spikes_is_refused_where_they_are_not_known(device: str) -> None:
    document = document_of("own_penalty", "spiking", device, "device_training")
    document["training"]["regularisers"][0]["penalty"] = "mean(first_spike)"
    if device == "ipu":
        del document["device"]["training"]
    (problem,) = refused(document)
    assert problem.pointer == "/training/regularisers/0/kind"
    assert problem.detail.startswith("times of first spikes are")


# The kind of layer that gives a network what a refusal names, and the feature that does.
_KINDS = {
    "convolution": "conv2d",
    "equations": "equations",
    "package": "package",
    "op": "op",
    "gate": "equations",
    "package_parameters": "package",
}
_FEATURES = {
    "delayed": "delay",
    "only_compiles": "precompile",
    "package_parameters": "parameters",
}
DENSE = {"neurons": 8}
POOL = {"kind": "average", "pool_size": [1, 2]}
POOLED = {"kind": "conv2d", "filters": 2, "kernel_size": 2, "pool": POOL}


def changed(on: str, **changes: object) -> dict[str, Any]:
    return {**document_of("layer", "dense", on), **changes}


def layer_of(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = document_of("layer", kind, "cpu")["network"]["layers"][0]
    return found


def special(refusal: Refusal, device: str) -> dict[str, Any] | None:
    """Returns a spec for what is no single field; None for a field."""
    layers = {
        "convolution_behind_dense": [DENSE, POOLED],
        "residual_over_parts": [POOLED, DENSE, {**DENSE, "residual": [1]}],
        "average_before_op": [POOLED, layer_of("op")],
    }
    if refusal.feature in layers:
        image = document_of("layer", "conv2d", device)["data"]
        return changed(device, network={"layers": layers[refusal.feature]}, data=image)
    if refusal.feature == "long_table":
        surrogate = {"name": "table", "values": [0.5] * 65, "width": 1.0}
        return changed(device, network={"layers": [layer_of("equations")], "surrogate": surrogate})
    if refusal.feature == "more_ipus_than_layers":
        return changed(device, device={"kind": device, "ipus": 4, "split": "layers"})
    if refusal.feature == "top_over_ipus":
        network = {"layers": [{**DENSE, "policy": "top", "capacity": 4}]}
        options = {"kind": device, "ipus": 4, "split": "neurons"}
        return changed(device, network=network, device=options)
    if refusal.feature == "profile_gates":
        options = {"kind": device, "connection_type": "NEVER"}
        return changed(device, profile={"gates": ["cycles<=5"]}, device=options)
    if (refusal.feature, *refusal.combined_with) == ("op", "convolution"):
        image = document_of("layer", "conv2d", device)["data"]
        return changed(
            device, network={"layers": [{**POOLED, "pool": None}, layer_of("op")]}, data=image
        )
    return None


PLACES = {
    "long_table": "/network/surrogate/values",
    "convolution_behind_dense": "/network/layers/1/kind",
    "residual_over_parts": "/network/layers/2/residual/0",
    "op": "/network/layers/1/kind",
    "average_before_op": "/network/layers/0/pool/kind",
    "profile_gates": "/profile/gates",
    "more_ipus_than_layers": "/device/split",
    "top_over_ipus": "/network/layers/0/policy",
}
AT_SUBMISSION = [(each, name) for each in REFUSALS for name in each.on if name in DEVICES]


@pytest.mark.parametrize("feature", sorted({each.feature for each, _ in AT_SUBMISSION}))
def test_each_refusal_has_its_place(feature: str) -> None:
    for refusal, device in AT_SUBMISSION:
        names = (refusal.feature, *refusal.combined_with)
        absent = any((_FEATURES.get(name, name), device) in ABSENT for name in names)
        if refusal.feature != feature or absent:
            continue
        document, place = special(refusal, device), PLACES.get(feature, "")
        kind = next((_KINDS[name] for name in names if name in _KINDS), "dense")
        if document is None:
            asked = [_FEATURES.get(name, name) for name in names]
            asked = [name for name in asked if name in FEATURES]
            kind = "conv2d_equations" if refusal.same_layer and kind == "equations" else kind
            first, *more = asked or ["layer"]
            document = document_of(first, kind, device, *more)
            place = refusal.at or place_of(_FEATURES.get(feature, feature), document, kind)
        found = [each for each in refused(document) if each.pointer == place]
        # Another refusal of the feature may be the first of those that apply.
        texts = [each.text(device) for each in refusals(names, device)]
        details = [without_values(each.detail) for each in found]
        assert any(detail in texts for detail in details), (names, device, found, place)
        assert refusal.code in {each.code for each in found}, (names, device)
