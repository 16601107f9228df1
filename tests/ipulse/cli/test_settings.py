"""`--set`: single fields of a spec that are replaced for one job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Connection

from .conftest import Run

SPEC = """\
version: 1
name: small
network:
  layers: [&same {neurons: 8}, *same]
training: {optimizer: {kind: adam}}
metadata: {a/b: before}
"""


@pytest.fixture
def spec_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SPEC)
    return path


def at(document: Any, *path: str | int) -> Any:
    for part in path:
        document = document[part]
    return document


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("training.epochs=5", ("training", "epochs"), 5),
        ("/training/epochs=5", ("training", "epochs"), 5),
        ("epochs=5", ("training", "epochs"), 5),
        ("learning_rate=1e-3", ("training", "optimizer", "learning_rate"), 1e-3),
        ("layers[1].neurons=4", ("network", "layers", 1, "neurons"), 4),
        ("early_stopping.patience=3", ("training", "early_stopping", "patience"), 3),
        ("training.optimizer.learning_rate=1e-3", ("training", "optimizer", "learning_rate"), 1e-3),
        ("network.layers[0].neurons=4", ("network", "layers", 0, "neurons"), 4),
        ("network.layers.1.neurons=4", ("network", "layers", 1, "neurons"), 4),
        (
            "/network/layers/1/second_threshold=0.5",
            ("network", "layers", 1, "second_threshold"),
            0.5,
        ),
        ("network.layers=[{neurons: 3}]", ("network", "layers", 0, "neurons"), 3),
        ("name=no", ("name",), "no"),
        ("name='7'", ("name",), "7"),
        ("metadata.note=a=b", ("metadata", "note"), "a=b"),
        ("/metadata/a~1b=after", ("metadata", "a/b"), "after"),
        ("device.kind=emulator", ("device", "kind"), "emulator"),
        ("seed=0x10", ("seed",), 16),
    ],
)
def test_the_job_has_the_value(
    run: Run, client: Connection, spec_file: Path, setting: str, path: Any, value: Any
) -> None:
    ran = run("submit", str(spec_file), "--set", setting)
    assert (ran.code, ran.err) == (0, "")
    spec = client.job(ran.out.strip()).json["spec"]
    found = at(spec, *path)
    assert (found, type(found)) == (value, type(value))
    checked = run("validate", str(spec_file), "--set", setting, "--json")
    assert checked.json["spec"] == spec


def test_other_fields_stay_as_they_are(offline: Run, spec_file: Path) -> None:
    before = offline("validate", str(spec_file), "--json").json["spec"]
    ran = offline("validate", str(spec_file), "--set", "network.layers[0].neurons=4", "--json")
    changed = ran.json["spec"]
    assert [layer["neurons"] for layer in changed["network"]["layers"]] == [4, 8]
    changed["network"]["layers"][0]["neurons"] = 8
    assert changed == before


def test_the_last_of_equal_settings_counts(offline: Run, spec_file: Path) -> None:
    settings = ("--set", "training.epochs=5", "--set", "/training/epochs=6", "--set", "seed=3")
    spec = offline("validate", str(spec_file), *settings, "--json").json["spec"]
    assert (spec["training"]["epochs"], spec["seed"]) == (6, 3)


@pytest.mark.parametrize(
    ("setting", "pointer", "named"),
    [
        ("training.epoch=5", "/training/epoch", "did you mean epochs?"),
        ("traning.epochs=5", "/traning", "did you mean training?"),
        ("epoch=5", "/epoch", "did you mean /training/epochs?"),
        ("/epochs=5", "/epochs", "did you mean /training/epochs?"),
        ("neurons=4", "", "network.layers[0].neurons or network.layers[1].neurons"),
        ("kind=sgd", "/kind", "training"),
        ("learning_rat=1", "/learning_rat", "did you mean /training/optimizer/learning_rate?"),
        (
            "network.layers=[{kind: conv2d, filters: 2, kernel_size: 1, colour: red}]",
            "/network/layers/0/colour",
            "the fields here are",
        ),
        ("training.epochs=five", "/training/epochs", "got 'five'"),
        ("training.epochs=", "/training/epochs", "got null"),
        ("training.epochs=0", "/training/epochs", "below the minimum of 1"),
        ("network.layers[2].neurons=4", "/network/layers", "2 items"),
        ("network.layers[00].neurons=4", "/network/layers", "2 items"),
        ("network.layers.first.neurons=4", "/network/layers", "'first'"),
        ("name.first=4", "/name", "no parts"),
        ("device.kind=gpu", "/device/kind", "gpu"),
    ],
)
def test_a_wrong_setting_is_an_error_with_its_place(
    offline: Run, spec_file: Path, setting: str, pointer: str, named: str
) -> None:
    ran = offline("validate", str(spec_file), "--set", "seed=3", "--set", setting)
    assert (ran.code, ran.out) == (2, "")
    assert f"--set {setting}: {pointer}: ".removesuffix(": : ") in ran.err
    assert named in ran.err
    [problem] = offline("validate", str(spec_file), "--set", setting, "--json").json["error"][
        "problems"
    ]
    assert problem["pointer"] == pointer


def test_problems_of_the_file_keep_their_lines(offline: Run, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("version: 1\nseed: -1\nnetwork: {layers: [{neurons: 8}]}\n")
    ran = offline("validate", str(file), "--set", "epochs=0")
    assert f"{file}:2: /seed: " in ran.err
    assert "--set epochs=0: /training/epochs: " in ran.err
    assert offline("validate", str(file), "--set", "seed=1").code == 0


@pytest.mark.parametrize(
    "setting",
    [
        "",
        "=5",
        "training.epochs",
        "training..epochs=5",
        ".epochs=5",
        "training.=5",
        "layers[x]=5",
        "layers[0=5",
        "/a~2b=5",
        "seed=[1",
        "seed=!!python/object:os.system 1",
        "seed=\u0007",
        "seed=" + "[" * 5000,
        "a" + ".a" * 5000 + "=1",
        "network.layers[" + "9" * 5000 + "].neurons=1",
        "seed=" + "9" * 5000,
        "seed=\udcff",
    ],
    ids=lambda setting: ascii(setting[:20]),
)
def test_what_is_no_setting_is_refused(offline: Run, spec_file: Path, setting: str) -> None:
    ran = offline("validate", str(spec_file), "--set", setting, "--json")
    assert ran.code == 2
    [problem] = ran.json["error"]["problems"]
    assert problem["detail"]
    assert len(ran.err) < 1000


def test_a_short_path_means_the_section_where_a_deeper_field_has_the_same_name(
    offline: Run, spec_file: Path
) -> None:
    ramp = "training.second_threshold_ramp={epochs: 2}"
    second = ("--set", "layers[0].second_threshold=0.5")
    ran = offline("validate", str(spec_file), "--set", ramp, *second, "--set", "epochs=7", "--json")
    training = ran.json["spec"]["training"]
    assert (training["epochs"], training["second_threshold_ramp"]["epochs"]) == (7, 2)


def test_a_file_that_is_no_object_has_its_own_problem(offline: Run) -> None:
    ran = offline("validate", "-", "--set", "seed=1", stdin="- 1\n")
    assert ran.code == 2
    assert "must be an object" in ran.err
