"""`ipulse spec fields` answers without a service and without a checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipulse.spec_sections import program_sections, spec_sections
from tests.ipulse.cli.conftest import Run


@pytest.mark.parametrize(
    "path", ["network.layers", "network.layers[]", "network.layers[0]", "/network/layers/0"]
)
def test_a_place_may_be_written_as_in_a_problem_or_a_setting(offline: Run, path: str) -> None:
    sections = offline("spec", "fields", path, "--json").json["sections"]
    assert {section["path"] for section in sections} == {"network.layers[]"}
    names = [field["name"] for section in sections for field in section["fields"]]
    assert names.count("kind") == len(sections) > 3


def test_every_field_of_every_model_is_found(offline: Run) -> None:
    for section in [*spec_sections(), *program_sections()]:
        shown = offline("spec", "fields", section.path or "/", "--json").json["sections"]
        names = [field["name"] for part in shown for field in part["fields"]]
        assert {row.name for row in section.fields} <= set(names)


def test_one_field_is_shown_for_each_kind_that_has_it(offline: Run) -> None:
    shown = offline("spec", "fields", "network.readout.decay", "--json").json["sections"]
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
