"""`Experiment`: a spec that is written in Python."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import ipulse
from ipulse import (
    LIF,
    Adam,
    AveragePool,
    Conv2D,
    Equations,
    Experiment,
    ExperimentSpec,
    Leaky,
    Parameter,
    State,
    SumPool,
    data,
)
from ipulse.experiment.stubs import MODULES, path, stub
from ipulse.spec import parse_spec, spec_to_json
from ipulse_core.errors import InvalidSpec
from tests.ipulse.strategies import specs

STATE = State("u", "d * u + I", reset="where(r, 0, u)")
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def digits(**fields: Any) -> Experiment:
    return Experiment(
        name="digits",
        data=data.Digits(steps=40),
        layers=[LIF(512), LIF(256, second_threshold=0.5, capacity=64)],
        readout=Leaky(decay=0.97),
        optimizer=Adam(0.01),
        epochs=20,
        batch_size=32,
        seed=5,
        device="cpu",
        **fields,
    )


def test_it_is_the_spec_that_the_document_describes() -> None:
    assert digits(slope=20).spec() == parse_spec(
        {
            "version": 1,
            "name": "digits",
            "seed": 5,
            "data": {"kind": "digits", "steps": 40},
            "network": {
                "layers": [
                    {"neurons": 512},
                    {"neurons": 256, "second_threshold": 0.5, "capacity": 64},
                ],
                "readout": {"kind": "leaky", "decay": 0.97},
                "surrogate": {"name": "superspike", "slope": 20},
            },
            "training": {
                "epochs": 20,
                "batch_size": 32,
                "optimizer": {"kind": "adam", "learning_rate": 0.01},
            },
            "device": {"kind": "cpu"},
        }
    )


def test_layers_are_written_in_version_2() -> None:
    layers = [
        Conv2D(8, 3, threshold=0.9),
        SumPool(2),
        LIF(64, name="features", decay=0.9, bias=True, recurrent=True),
        LIF(64),
        LIF(64, skips=["features"], trained=False),
        Equations(8, states=[STATE], parameters=[Parameter("d", 0.9)], spike="u - 1"),
    ]
    experiment = Experiment(data="n_mnist", layers=layers, readout=Leaky(0.97))
    experiment.check()
    network = experiment.to_json()["network"]
    assert experiment.to_json()["version"] == 2
    conv = {"kind": "conv2d", "filters": 8, "kernel_size": 3}
    pool = {"kind": "sum_pool", "pool_size": 2}
    assert network["layers"][:2] == [
        {"connections": [conv], "neuron": {"threshold": 0.9}},
        {
            "name": "features",
            "neurons": 64,
            "connections": [pool, {"kind": "dense", "bias": True}, {"kind": "recurrent"}],
            "neuron": {"decay": 0.9},
        },
    ]
    assert network["layers"][3]["connections"][1] == {"kind": "skip", "from": "features"}
    assert network["readout"] == {"neuron": {"kind": "leaky", "decay": 0.97}}
    changed = experiment.replace(**{"layers[0].decay": 0.5, "readout.neuron.decay": 0.9})
    assert changed.to_json()["network"]["layers"][0]["neuron"]["decay"] == 0.5
    changed.check()


def test_arguments_and_layers_of_earlier_releases_mean_the_same() -> None:
    conv = Conv2D(4, 3, pool=SumPool(2), trainable=False)  # type: ignore[call-arg]
    old = {"neurons": 8, "decay": 0.8, "recurrent": True}
    delays = {"per": "synapse", "longest": 3}
    last = LIF(8, residual=[2], delays=delays)  # type: ignore[call-arg]
    made = Experiment(data="n_mnist", layers=[conv, old, LIF(8), last], readout="leaky").spec()
    layers = made.network.layers
    assert spec_to_json(layers[0])["pool"] == {"kind": "sum", "pool_size": 2}
    assert [layer.trainable for layer in layers] == [False, True, True, True]
    assert (spec_to_json(layers[1])["decay"], spec_to_json(layers[1])["recurrent"]) == (0.8, True)
    assert spec_to_json(layers[3])["residual"] == [2]
    alone = Experiment(data="n_mnist", layers=[Conv2D(4, 3), AveragePool(3)]).spec()
    assert spec_to_json(alone.network.layers[0])["pool"] == {"kind": "average", "pool_size": 3}


def test_the_types_of_parts_are_those_of_the_fields() -> None:
    for module in MODULES:
        hint = "run `python -m ipulse.experiment.stubs`"
        assert path(module).read_text("utf-8") == stub(module), hint


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(specs())
def test_spec_experiment_and_yaml_are_one_thing_in_three_forms(spec: ExperimentSpec) -> None:
    keeps_its_spec(spec)


@pytest.mark.verify
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(specs())
def test_a_thousand_specs_are_one_thing_in_three_forms(spec: ExperimentSpec) -> None:
    keeps_its_spec(spec)


def keeps_its_spec(spec: ExperimentSpec) -> None:
    experiment = Experiment.from_spec(spec)
    assert experiment.spec() == spec
    assert spec_to_json(experiment.spec()) == spec_to_json(spec)
    assert _read(experiment.to_yaml()) == experiment.to_json()


def _read(text: str) -> Any:
    from ipulse.spec.document.file import parse_spec_file

    return parse_spec_file(text.encode(), "text").value


def test_a_file_is_written_and_read(tmp_path: Path) -> None:
    experiment = digits(metadata={"no": "yes", "number": "0o17", "1e3": "-", "ü": "\U0001f600"})
    experiment.to_yaml(tmp_path / "digits.yaml")
    assert Experiment.load(tmp_path / "digits.yaml").to_json() == experiment.to_json()
    for example in EXAMPLES.glob("*.yaml"):
        read = Experiment.load(example)
        read.check()
        assert Experiment.from_spec(_read(read.to_yaml())) == read


def test_replace_returns_a_copy_with_other_values() -> None:
    before = digits()
    after = before.replace(epochs=5, **{"layers[0].neurons": 128})
    assert before == digits()
    spec = after.spec()
    assert spec.training.epochs == 5
    assert [layer.neurons for layer in spec.network.layers] == [128, 256]


def test_replace_sets_whole_parts_before_what_is_in_them() -> None:
    spec = digits().replace(channels=7, classes=3, data=data.Npz("mine", steps=9)).spec()
    assert (spec.data.kind, spec.data.steps) == ("npz", 9)
    assert spec_to_json(spec)["data"]["channels"] == 7


@pytest.mark.parametrize("path", ["neurons", "a..b", "layers[9].neurons", "seed.x"])
def test_a_path_that_means_no_single_field_is_refused(path: str) -> None:
    with pytest.raises(InvalidSpec):
        digits().replace(**{path: 1})


def test_check_reports_every_problem_at_once() -> None:
    wrong = Experiment(
        layers=[LIF(0), LIF(4, capacity=9)],
        optimizer=Adam(learning_rate=-1),
        epochs="many",  # type: ignore[arg-type]
        device="gpu",
        epoch=4,
    )
    with pytest.raises(InvalidSpec) as refused:
        wrong.check()
    problems = {problem.pointer: problem.detail for problem in refused.value.problems}
    assert problems.keys() >= {
        "/network/layers/0/neurons",
        "/network/layers/1/capacity",
        "/training/optimizer/learning_rate",
        "/training/epochs",
        "/device/kind",
        "/epoch",
    }
    assert "/training/epochs" in problems["/epoch"]


def test_arrays_and_tuples_are_lists_of_numbers() -> None:
    decays = np.linspace(0.5, 0.9, 4)
    layer = digits().replace(layers=(LIF(np.int64(4), decay=decays),)).spec().network.layers[0]
    assert layer.decay == tuple(decays)


def test_values_that_are_no_json_are_reported(tmp_path: Path) -> None:
    wrong = digits().replace(epochs={1}, name=object())
    with pytest.raises(InvalidSpec) as refused:
        wrong.check()
    pointers = {problem.pointer for problem in refused.value.problems}
    assert pointers == {"/training/epochs", "/name"}
    with pytest.raises(InvalidSpec):
        wrong.to_yaml(tmp_path / "wrong.yaml")


def test_parts_are_called_like_functions() -> None:
    with pytest.raises(TypeError):
        LIF(1, 2)
    with pytest.raises(TypeError):
        LIF(1, neurons=2)
    with pytest.raises(TypeError, match="second_threshold"):
        LIF(1, secondthreshold=2)  # type: ignore[call-arg]
    assert repr(LIF(4, capacity=2)) == "LIF(neurons=4, capacity=2)"


def test_equal_experiments_may_be_written_in_different_ways() -> None:
    assert digits() == Experiment.from_spec(digits().spec())
    assert digits() == pickle.loads(pickle.dumps(digits()))  # noqa: S301  # our own bytes
    assert digits() != digits().replace(seed=6)


def test_an_uploaded_data_set_is_named_by_its_version() -> None:
    from types import SimpleNamespace

    version = SimpleNamespace(kind="npz", reference="mine@3")
    for uploaded in (data.Uploaded(version), data.Uploaded("mine@3", kind="npz")):
        assert uploaded == {"kind": "npz", "dataset": "mine@3"}


def test_every_part_of_the_package_makes_a_valid_part() -> None:
    for name in ("SHD", "SSC", "NMNIST", "DVSGesture", "YinYang", "Poisson", "Randman"):
        digits().replace(data=getattr(data, name)()).check()
    for surrogate in (ipulse.ArcTan(5), ipulse.Boxcar(), ipulse.Table([0, 1, 0], 2)):
        digits().replace(surrogate=surrogate).check()
    for device in (ipulse.CPU(threads=1), ipulse.Emulator(2), ipulse.IPU()):
        digits().replace(device=device).check()
    assert {"Experiment", "LIF", "data"} <= set(dir(ipulse))


HEAVY = ("numpy", "pandas", "tensorflow", "pydantic", "httpx", "yaml")


def test_the_import_loads_nothing_heavy() -> None:
    program = f"import sys, ipulse; print([n for n in {HEAVY} if n in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert loaded.stdout.strip() == "[]"


def test_the_import_takes_at_most_300_ms_of_processor_time() -> None:
    program = (
        "import time; begin = time.process_time(); import ipulse; "
        "print(time.process_time() - begin)"
    )
    seconds = [
        float(subprocess.run([sys.executable, "-c", program], capture_output=True).stdout)
        for _ in range(3)
    ]
    assert min(seconds) < 0.3
