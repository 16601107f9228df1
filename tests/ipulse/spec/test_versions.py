"""Version 2 of a spec says the same as version 1: translations, errors and their places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from ipulse.spec import ExperimentSpec, parse_job_spec, parse_spec, spec_to_json
from ipulse.spec.document.file import parse_spec_file, read_spec_file
from ipulse_core.errors import InvalidSpec
from ipulse_core.registry.absent import ABSENT
from ipulse_core.registry.kinds import LAYER_KINDS, parts
from ipulse_core.registry.layer_paths import PLACES, newer, older
from ipulse_core.registry.versions import lower, lowered, raise_to_2
from ipulse_core.spec.upgrade import spec_key, upgrade
from ipulse_core.strict_json import pointer_keys
from tests.ipulse.spec.test_upgrade import EXAMPLES, HOMES, ROOT, stored_specs
from tests.ipulse.spec_documents import changed
from tests.ipulse.strategies import documents

OP = "pool_op@sha256:" + "0123456789abcdef" * 4
PACKAGE = "dendrites@sha256:" + "0123456789abcdef" * 4
EQUATIONS = {
    "name": "leaky",
    "states": [{"name": "u", "update": "d * u + I", "reset": "where(r, 0, u)"}],
    "parameters": [{"name": "d", "value": 0.9, "trainable": True}],
    "spike": "u - 1",
}
# Every kind of layer with fields of each part, in version 1.
LIF: dict[str, Any] = {
    "version": 1,
    "network": {
        "layers": [
            {"neurons": 8, "decay": 0.8, "bias": True, "recurrent": True, "trainable": False},
            {"neurons": 8, "capacity": {"grow": 2}, "policy": "top", "dropout": 0.5},
            {
                "neurons": 8,
                "residual": [1],
                "adaptation": {"strength": 0.3},
                "quantisation": {"bits": 4},
            },
            {"neurons": 4, "delays": {"per": "neuron", "longest": 3}, "second_threshold": 0.5},
        ],
        "readout": {"kind": "leaky", "decay": 0.97, "standardised": True},
        "trainable": ["decay"],
    },
    "data": {"kind": "digits", "steps": 40},
}
PARTS: dict[str, Any] = {
    "version": 1,
    "network": {
        "layers": [
            {
                "kind": "conv2d",
                "filters": 4,
                "kernel_size": 3,
                "threshold": 0.9,
                "pool": {"kind": "average", "pool_size": 2},
            },
            {"kind": "conv2d", "filters": 2, "kernel_size": [2, 2], "neuron": EQUATIONS},
            {"kind": "equations", "neurons": 8, "neuron": EQUATIONS, "gate": -0.5, "bias": True},
            {"kind": "op", "op": OP, "neurons": 5, "attributes": {"width": 2}, "delay": 1},
            {
                "kind": "package",
                "neurons": 3,
                "neuron": {"package": PACKAGE, "parameters": [{"name": "c", "trainable": True}]},
            },
        ],
        "readout": {"kind": "spiking", "threshold": 0.7},
    },
    "training": {"loss": "spike_count_cross_entropy"},
}
# Ops behind a pool and with a skip.
OPS: dict[str, Any] = {
    "version": 1,
    "network": {
        "layers": [
            {"kind": "conv2d", "filters": 2, "kernel_size": 3, "pool": {"kind": "sum"}},
            {"kind": "op", "op": OP, "neurons": 8},
            {"neurons": 8},
            {"kind": "op", "op": OP, "neurons": 5, "residual": [2]},
        ]
    },
}


def check(document: dict[str, Any]) -> None:
    """Asserts that a document, with and without its defaults, means the same in version 2."""
    wanted = upgrade(document)
    for written in (document, wanted):
        before = json.dumps(written)
        raised = raise_to_2(written)
        assert raised["version"] == 2
        assert json.dumps(upgrade(lower(raised))) == json.dumps(wanted)
        assert json.dumps(spec_to_json(parse_job_spec(raised))) == json.dumps(wanted)
        assert spec_key(upgrade(lower(raised))) == spec_key(wanted)
        assert raise_to_2(raised) is raised
        assert json.dumps(raise_to_2(lower(raised))) == json.dumps(raised)
        assert json.dumps(written) == before


@given(documents())
def test_a_random_spec_means_the_same_in_version_2(
    pair: tuple[dict[str, Any], ExperimentSpec],
) -> None:
    check(json.loads(json.dumps(pair[0])))


@pytest.mark.parametrize("document", [LIF, PARTS, OPS], ids=["lif", "parts", "ops"])
def test_every_kind_of_layer_means_the_same_in_version_2(document: dict[str, Any]) -> None:
    check(document)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_means_the_same_in_version_2(example: Path) -> None:
    document = read_spec_file(example).value
    if example.parent.name == "poplar":
        document["package"] = "sha256:" + "0" * 64
    check(upgrade(lower(document)))


@pytest.mark.parametrize("archive", HOMES, ids=lambda path: path.name.partition("-")[0])
def test_stored_specs_mean_the_same_in_version_2(archive: Path, tmp_path: Path) -> None:
    for document in stored_specs(archive, tmp_path):
        check(document)


def test_specs_and_networks_of_the_documentation_are_of_version_2() -> None:
    found = 0
    for page in (ROOT / "docs").rglob("*.md"):
        for block in page.read_text("utf-8").split("```yaml\n")[1:]:
            text = block.partition("```")[0]
            document = parse_spec_file(text.encode(), page.name).value
            if text.startswith("version: ") and "network" in document:
                assert document["version"] == 2, page
                check(lower(document))
                found += 1
            elif text.startswith("network:"):
                assert not lowered({"version": 2, **document}).problems, page
                found += 1
    assert found > 5


def _values(value: Any, pointer: str = "") -> list[str]:
    """Returns the pointers of all values below the network of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for name, each in items:
        here = f"{pointer}/{name}"
        if isinstance(each, (dict, list)):
            found += _values(each, here)
        elif here.rpartition("/")[2] not in ("kind", "from"):
            found.append(here)
    return found


@pytest.mark.parametrize("document", [LIF, PARTS], ids=["lif", "parts"])
def test_a_wrong_value_is_reported_at_the_place_that_was_written(document: dict[str, Any]) -> None:
    raised = raise_to_2(document)
    places = _values(raised["network"], "/network")
    assert len(places) > 15
    for place in places:
        broken = changed(place, {"no": "value"}, json.loads(json.dumps(raised)))
        with pytest.raises(InvalidSpec) as caught:
            parse_spec(broken)
        pointers = [problem.pointer for problem in caught.value.problems]
        assert any(pointer.startswith(place) for pointer in pointers), (place, pointers)


@pytest.mark.parametrize(
    ("layer", "place", "code", "hint"),
    [
        ({"neurons": 8, "decay": 0.9}, "/decay", "unknown_field", "neuron.decay"),
        ({"neurons": 8, "bias": True}, "/bias", "unknown_field", "connections[0].bias"),
        ({"neurons": 8, "recurrent": True}, "/recurrent", "unknown_field", "kind: recurrent"),
        ({"neurons": 8, "trainable": True}, "/trainable", "unknown_field", "trained"),
        ({"neuron": {"decay": 0.9}}, "/neurons", "missing", "required"),
        ({"neurons": 8, "neuron": {"decya": 1}}, "/neuron/decya", "unknown_field", "decay"),
        ({"neurons": 8, "neuron": {"decay": 2}}, "/neuron/decay", "out_of_range", "maximum"),
        ({"neurons": 8, "neuron": {"kind": "leaky"}}, "/neuron/kind", "not_a_choice", "lif"),
        ({"neurons": 8, "neuron": 3}, "/neuron", "wrong_type", "an object"),
        ({"neurons": 8, "connections": {}}, "/connections", "wrong_type", "a list"),
        ({"neurons": 8, "connections": []}, "/connections", "missing", "dense"),
        ({"neurons": 8, "connections": [3]}, "/connections/0", "wrong_type", "an object"),
        (
            {"neurons": 8, "connections": [{"kind": "max_pool"}, {}]},
            "/connections/0/kind",
            "not_a_choice",
            "sum_pool",
        ),
        (
            {"neurons": 8, "connections": [{"kind": "sum_pool"}, {}]},
            "/connections/0",
            "unsupported",
            "input",
        ),
        ({"neurons": 8, "connections": [{}, {}]}, "/connections/1", "unsupported", "remove it"),
        (
            {"neurons": 8, "connections": [{}, {"kind": "recurrent", "bias": True}]},
            "/connections/1/bias",
            "unsupported",
            "the connection with input weights",
        ),
        (
            {"neurons": 8, "connections": [{}, {"kind": "skip", "from": "nobody"}]},
            "/connections/1/from",
            "unknown_name",
            "layers[0]",
        ),
        (
            {"neurons": 8, "connections": [{}, {"kind": "skip", "from": "input"}]},
            "/connections/1/from",
            "unsupported",
            "hidden layer",
        ),
        (
            {"connections": [{"kind": "conv2d", "kernel_size": 3}]},
            "/connections/0/filters",
            "missing",
            "required",
        ),
        ({"op": {"name": OP}, "neurons": 4, "neuron": {}}, "/neuron", "inconsistent", "at once"),
        (
            {"op": {"name": OP}, "neurons": 4, "connections": [{"bias": True}]},
            "/connections/0",
            "inconsistent",
            "remove it",
        ),
        ({"neurons": 8, "name": "layers[1]"}, "/name", "wrong_form", "must match"),
    ],
)
def test_bad_layers_of_version_2(layer: Any, place: str, code: str, hint: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec({"version": 2, "network": {"layers": [layer]}})
    (problem,) = caught.value.problems
    assert (problem.pointer, problem.code) == (f"/network/layers/0{place}", code)
    assert hint in problem.detail


def test_what_no_kernel_runs_is_refused_in_the_words_of_the_capability_table() -> None:
    conv = {"kind": "conv2d", "filters": 2, "kernel_size": 3, "dropout": 0.5}
    document = {"version": 2, "network": {"layers": [{"connections": [conv]}]}}
    if "dropout" in LAYER_KINDS["conv2d"].fields:
        parse_spec(document)
        return
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(document)
    (problem,) = caught.value.problems
    assert problem.pointer == "/network/layers/0/connections/0/dropout"
    assert ABSENT["dropout", "conv2d"].reason in problem.detail


def test_problems_of_layers_and_of_the_rest_are_reported_together() -> None:
    document = {"version": 2, "network": {"layers": [{"decay": 1}]}, "training": {"epochs": 0}}
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(document)
    places = [problem.pointer for problem in caught.value.problems]
    assert places == ["/network/layers/0/decay", "/training/epochs"]


def test_layers_have_names_by_which_skips_find_them() -> None:
    layers = [
        {"name": "first", "neurons": 8},
        {"name": "layers[1]", "neurons": 8},
        {"neurons": 8, "connections": [{}, {"kind": "skip", "from": "first"}]},
    ]
    spec = parse_spec({"version": 2, "network": {"layers": layers}})
    assert [layer.name for layer in spec.network.layers] == ["first", None, None]
    stored = spec_to_json(spec)
    assert stored["network"]["layers"][2]["residual"] == [1]
    assert "name" not in stored["network"]["layers"][1]
    again = raise_to_2(stored)["network"]["layers"]
    assert again[2]["connections"][1] == {"kind": "skip", "from": "first"}


def test_two_layers_cannot_have_one_name() -> None:
    layers = [{"name": "same", "neurons": 8}, {"name": "same", "neurons": 8}]
    with pytest.raises(InvalidSpec) as caught:
        parse_spec({"version": 2, "network": {"layers": layers}})
    (problem,) = caught.value.problems
    assert problem.pointer == "/network/layers/1/name"


def test_every_field_of_a_layer_has_a_place_in_version_2() -> None:
    connections = {"kind", "recurrent", "residual", "pool"}
    for kind in LAYER_KINDS.values():
        assert set(parts()[kind.part]) <= {*PLACES, *connections}, kind.name


@pytest.mark.parametrize("document", [LIF, PARTS], ids=["lif", "parts"])
def test_paths_of_both_versions_name_each_other(document: dict[str, Any]) -> None:
    found = lowered(raise_to_2(document))
    for flat, place in found.places.items():
        tokens, written = tuple(pointer_keys(flat)), tuple(pointer_keys(place))
        if len(tokens) < 4 or tokens[-1] in ("kind", "recurrent", "pool") or "residual" in tokens:
            continue
        assert tokens in older(written), (flat, place)
        if written[3:5] != ("connections", "1") and written[3] != "op":
            assert newer(tokens) == written
