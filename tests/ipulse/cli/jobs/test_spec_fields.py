"""`ipulse spec fields` answers without a service and without a checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipulse.spec_sections import program_sections, script_sections, spec_sections
from tests.ipulse.cli.conftest import Run


@pytest.mark.parametrize(
    "path", ["network.layers", "network.layers[]", "network.layers[0]", "/network/layers/0"]
)
def test_a_place_may_be_written_as_in_a_problem_or_a_setting(offline: Run, path: str) -> None:
    sections = offline("spec", "fields", path, "--json").json["sections"]
    assert {section["path"] for section in sections} == {"network.layers[]"}
    names = [field["name"] for section in sections for field in section["fields"]]
    assert {"neurons", "connections", "neuron", "op"} <= set(names)


def test_both_versions_are_described_and_a_path_of_either_is_found(offline: Run) -> None:
    old = offline("spec", "fields", "network.layers", "--version", "1", "--json").json["sections"]
    assert len(old) > 3
    kinds = offline("spec", "fields", "network.layers.neuron", "--json").json["sections"]
    assert [part["fields"][0]["type"] for part in kinds] == ["`lif`", "`equations`", "`package`"]
    for path in ("network.layers.neuron.decay", "network.layers[0].decay"):
        shown = offline("spec", "fields", path).out
        assert "default 0.95" in shown


def test_usual_fields_are_described_and_others_named(offline: Run) -> None:
    brief = offline("spec", "fields", "network.layers.neuron").out
    whole = offline("spec", "fields", "network.layers.neuron", "--all").out
    assert "second_threshold: number" in brief
    assert "gain: number" not in brief
    assert "gain" in brief
    assert "gain: number" in whole


def test_the_schema_is_printed_for_editors(offline: Run) -> None:
    schema = offline("spec", "schema").json
    assert {"ExperimentSpec", "ExperimentSpecV2", "PoplarProgramSpec"} <= schema["$defs"].keys()


def test_every_field_of_every_model_is_found(offline: Run) -> None:
    for section in [*spec_sections(), *program_sections(), *script_sections()]:
        shown = offline("spec", "fields", section.path or "/", "--json").json["sections"]
        names = [field["name"] for part in shown for field in part["fields"]]
        assert {row.name for row in section.fields} <= set(names)


def test_one_field_is_shown_for_each_kind_that_has_it(offline: Run) -> None:
    shown = offline("spec", "fields", "network.readout.neuron.decay", "--json").json["sections"]
    assert len(shown) > 1
    assert all([field["name"] for field in part["fields"]] == ["decay"] for part in shown)
    assert "default 30" in offline("spec", "fields", "training.epochs").out


def test_an_unknown_place_is_refused_with_similar_ones(offline: Run) -> None:
    ran = offline("spec", "fields", "training.optimzer")
    assert (ran.code, ran.out) == (2, "")
    assert "training.optimizer" in ran.err


def test_a_job_with_the_name_of_a_command_can_be_shown(run: Run, spec_file: Path) -> None:
    run("submit", str(spec_file), "--set", "name=fields")
    assert "name: fields" in run("spec", "show", "fields").out
    assert "network.layers[]" in run("spec", "fields").out


def test_what_runs_where_is_printed_for_a_feature_a_kind_and_a_device(offline: Run) -> None:
    of_dropout = offline("spec", "runs", "dropout")
    (dense,) = [line for line in of_dropout.out.splitlines() if line.startswith("dense  ")]
    assert dense.split()[:2] == ["dense", "yes"]
    assert "use device kind cpu or emulator" in of_dropout.out
    for name in ("conv2d", "emulator"):
        shown = offline("spec", "runs", name, "--json").json["cells"]
        assert all(name in (cell["kind"], cell["device"]) for cell in shown)
    whole = offline("spec", "runs", "--json").json
    assert len(whole["cells"]) == (
        len(whole["features"]) * len(whole["kinds"]) * len(whole["devices"])
    )


def test_an_unknown_feature_is_refused_with_similar_ones(offline: Run) -> None:
    ran = offline("spec", "runs", "dropot")
    assert (ran.code, ran.out) == (2, "")
    assert "dropout" in ran.err
