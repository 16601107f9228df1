"""Documents without what nobody wrote, or without defaults, mean the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ipulse.models.partial_json import chosen_json, given_json
from ipulse.spec import (
    AdamWSpec,
    ExperimentSpec,
    LayerSpec,
    NetworkSpec,
    TrainingSpec,
    parse_job_spec,
    parse_spec,
    spec_to_json,
)
from ipulse.spec.document.file import read_spec_file
from ipulse.sweeps import parse_sweep

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples").glob("*.yaml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_both_documents_of_an_example_are_the_same_spec(example: Path) -> None:
    spec = read_spec_file(example).job_spec()
    whole = spec_to_json(spec)
    for document in (given_json(spec), chosen_json(spec)):
        assert spec_to_json(parse_job_spec(document)) == whole
    assert chosen_json(parse_job_spec(whole)) == chosen_json(spec)


def test_only_what_was_given_is_in_a_document() -> None:
    spec = ExperimentSpec(
        version=1,
        network=NetworkSpec(layers=(LayerSpec(neurons=4, decay=0.95),)),
        training=TrainingSpec(optimizer=AdamWSpec()),
    )
    given = given_json(spec)
    assert given["network"]["layers"] == [{"kind": "dense", "neurons": 4, "decay": 0.95}]
    assert given["training"] == {"optimizer": {"kind": "adamw"}}
    assert {"seed", "data", "device", "name"}.isdisjoint(given)


@pytest.mark.parametrize(
    ("changes", "is_chosen"),
    [({"seed": 0}, False), ({"seed": 1}, True), ({"metadata": {}}, False), ({"name": "a"}, True)],
)
def test_a_default_that_was_written_is_not_chosen(changes: dict[str, Any], is_chosen: bool) -> None:
    spec = parse_spec({"version": 1, "network": {"layers": [{"neurons": 4}]}, **changes})
    assert (next(iter(changes)) in chosen_json(spec)) == is_chosen


def test_a_default_may_depend_on_another_field() -> None:
    sweep = {"sweep": "a", "spec": {}, "parameters": {"/seed": {"values": [1, 2]}}}
    of_error = {**sweep, "objective": {"metric": "test_mae"}}
    written = {**sweep, "objective": {"metric": "test_mae", "goal": "minimize"}}
    other = {**sweep, "objective": {"metric": "test_mae", "goal": "maximize"}}
    chosen = [chosen_json(parse_sweep(document)) for document in (of_error, written, other)]
    assert chosen[0] == chosen[1] != chosen[2]
