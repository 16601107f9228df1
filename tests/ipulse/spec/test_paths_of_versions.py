"""Settings name fields by their paths in either version of a spec."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.experiment import Experiment
from ipulse.spec import parse_spec
from ipulse.spec.document.file import parse_spec_file
from ipulse.spec.document.settings import spec_of, with_settings
from ipulse.spec.document.yaml_writer import yaml_text
from ipulse.spec.paths import find_path, pointer
from ipulse.sweeps.file import varied
from ipulse_core.errors import InvalidSpec
from ipulse_core.registry.versions import raise_to_2

CONV: dict[str, Any] = {
    "version": 1,
    "network": {
        "layers": [
            {"kind": "conv2d", "filters": 4, "kernel_size": 3, "pool": {"pool_size": 2}},
            {"kind": "conv2d", "filters": 2, "kernel_size": 2},
            {"neurons": 8, "delays": {"longest": 3}},
        ],
        "readout": {"kind": "spiking"},
    },
    "training": {"loss": "spike_count_cross_entropy"},
}
# Settings by their paths in version 1 and in version 2.
SAME = [
    ("network.layers[2].decay=0.5", "layers[2].neuron.decay=0.5"),
    ("layers[1].kernel_size=3", "network.layers[1].connections[1].kernel_size=3"),
    ("layers[0].pool.pool_size=3", "layers[1].connections[0].pool_size=3"),
    ("layers[2].delays.longest=5", "layers[2].connections[0].delay.longest=5"),
    ("layers[2].trainable=false", "layers[2].trained=false"),
    ("readout.threshold=0.5", "readout.neuron.threshold=0.5"),
    ("/network/layers/2/bias=true", "/network/layers/2/connections/0/bias=true"),
    ("layers[2].adaptation.strength=2", "layers[2].neuron.adaptation.strength=2"),
    ("network.trainable=[decay]", "trained_constants=[decay]"),
    ("epochs=3", "training.epochs=3"),
]


@pytest.mark.parametrize("settings", SAME, ids=[new for _, new in SAME])
def test_a_setting_may_be_written_in_either_version(settings: tuple[str, str]) -> None:
    if "trained_constants" in settings[1]:
        first: dict[str, Any] = {"version": 1, "network": {"layers": [{"neurons": 8}]}}
    else:
        first = CONV
    changed = []
    for document in (first, raise_to_2(first)):
        file = parse_spec_file(yaml_text(document).encode(), "mine.yaml")
        changed += [spec_of(file, [setting]) for setting in settings]
        assert with_settings(file, settings[:1]).value["version"] == document["version"]
    assert all(spec == changed[0] for spec in changed)
    assert changed[0] != parse_spec(first)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("path", ["network.layers[0].op", "layers[0].op.name"])
def test_the_op_of_a_layer_has_a_path_in_either_version(version: int, path: str) -> None:
    old, new = (f"{name}@sha256:{'0' * 64}" for name in ("old", "new"))
    layer: dict[str, Any] = {"neurons": 8, "op": old, "kind": "op"}
    if version == 2:
        layer = {"neurons": 8, "op": {"name": old}}
    document = {"version": version, "network": {"layers": [layer]}}
    file = parse_spec_file(yaml_text(document).encode(), "mine.yaml")
    assert spec_of(file, [f"{path}={new}"]).network.layers[0].op == new


def test_a_setting_of_a_short_form_makes_the_part() -> None:
    file = parse_spec_file(b"version: 2\nnetwork: {layers: [{neurons: 8}]}\n", "short.yaml")
    spec = spec_of(file, ["layers[0].connections[0].bias=true", "layers[0].neuron.gain=3"])
    assert (spec.network.layers[0].bias, spec.network.layers[0].gain) == (True, 3.0)


def test_a_wrong_value_of_a_setting_is_reported_at_its_path() -> None:
    file = parse_spec_file(b"version: 2\nnetwork:\n  layers:\n    - neurons: 8\n", "short.yaml")
    with pytest.raises(InvalidSpec) as caught:
        spec_of(file, ["layers[0].decay=7"])
    (problem,) = caught.value.problems
    assert problem.pointer == "/network/layers/0/neuron/decay"
    assert "--set layers[0].decay=7" in str(problem)


def test_a_problem_in_a_file_of_version_2_has_its_line() -> None:
    text = b"version: 2\nnetwork:\n  layers:\n    - neurons: 8\n      neuron:\n        decay: 7\n"
    with pytest.raises(InvalidSpec) as caught:
        parse_spec_file(text, "wrong.yaml").spec()
    assert str(caught.value.problems[0]).startswith("wrong.yaml:6: /network/layers/0/neuron/decay")


@pytest.mark.parametrize("path", ["layers[0].neuron.decay", "layers[0].decay"])
def test_sweeps_and_experiments_take_both_paths(path: str) -> None:
    for document in (_minimal(1), _minimal(2)):
        name, _ = varied(document, f"{path}=0.5,0.6")
        assert name == pointer(find_path(document, path))
        changed = Experiment.from_spec(document).replace(**{path: 0.5})
        assert changed.spec().network.layers[0].decay == 0.5
        assert changed.to_json()["version"] == document["version"]


def _minimal(version: int) -> dict[str, Any]:
    return {"version": version, "network": {"layers": [{"neurons": 8}]}}
