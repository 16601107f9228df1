from __future__ import annotations

from typing import Any

import pytest

from ipulse_worker.runner.profile.tile_profile import AROUND, TOGETHER, TileProfile
from ipulse_worker.runner.profile.tile_records import Cycles
from tests.worker.runner.report.tile_documents import FORWARD, PASSES, document


@pytest.fixture
def profile() -> TileProfile:
    return TileProfile(document(), layers=2)


def test_adds_cycles_up_by_kind_step_and_layer(profile: TileProfile) -> None:
    assert profile.total == Cycles(800 * 4 + 300 * 4 + 500, 60 + 20 * 8, 90 * 10, 0)
    assert [step.name for step in profile.steps] == [
        "layer1/integrate",
        "readout/integrate",
        "backward/layer1/adjoint",
        "arrange",
    ]
    layers = {layer.name: layer for layer in profile.layers}
    assert list(layers) == ["layer 1", "readout", AROUND]
    assert layers["layer 1"].forward == Cycles(3200, 80, 360, 0)
    assert layers["layer 1"].backward == Cycles(500, 0, 90, 0)
    assert layers["readout"].backward.total == 0
    assert sum(layer.total for layer in layers.values()) == profile.total.total
    assert profile.seconds(1e9) == 1.0


def test_the_first_step_is_all_recorded_runs(profile: TileProfile) -> None:
    assert profile.first_step == profile.total.total
    given = document()
    given["execution"]["runs"][1]["truncated"] = True
    assert TileProfile(given, layers=2).first_step is None


def with_a_delay() -> Any:
    """A profile with steps of all layers together."""
    given = document()
    for compute_set in given["compilation"]["computeSets"]:
        last = compute_set["name"].rsplit("/", 1)[1]
        backward = "backward/" if "backward" in compute_set["name"] else ""
        compute_set["name"] = f"{backward}all_layers/{last}"
    return given


def test_steps_of_all_layers_are_not_around_them() -> None:
    layers = {layer.name: layer for layer in TileProfile(with_a_delay(), layers=2).layers}
    assert layers[TOGETHER].forward == Cycles(4400, 160, 720, 0)
    assert layers[TOGETHER].backward == Cycles(500, 0, 90, 0)
    assert layers[AROUND].backward.total == 0
    assert layers["layer 1"].total == 0


def test_steps_of_all_layers_are_divided_by_the_work_of_their_vertices() -> None:
    given = with_a_delay()
    for total in given["execution"]["totals"]:
        if total["program"] > 2:
            total["computeCyclesByScope"] = {
                "layer1": 500,
                "layer1/candidates": 100,
                "readout": 200,
                "": 200,
            }
    profile = TileProfile(given, layers=2)
    layers = {layer.name: layer for layer in profile.layers}
    assert layers["layer 1"].backward == pytest.approx(Cycles(300, 0, 54, 0))
    assert layers["readout"].backward == pytest.approx(Cycles(100, 0, 18, 0))
    assert layers[TOGETHER].backward == pytest.approx(Cycles(100, 0, 18, 0))
    assert layers["layer 1"].forward.compute == pytest.approx(0.6 * 4400)
    whole = sum(layer.total for layer in layers.values())
    assert whole == pytest.approx(profile.total.total)


def test_knows_how_evenly_tiles_work(profile: TileProfile) -> None:
    assert profile.balance == pytest.approx(0.25)
    assert profile.compute_by_tile.tolist() == [4900, 0, 0, 0]


def test_an_iteration_is_from_the_middle_of_the_most_expensive_loop(profile: TileProfile) -> None:
    forward, backward = profile.runs
    assert [forward.programs, backward.programs] == [FORWARD, [5]]
    actual = profile.one_iteration(forward)
    assert actual == (1 + 2 * (PASSES // 2 - 1), 1 + 2 * (PASSES // 2))
    assert profile.one_iteration(backward) is None


def test_memory_by_tile_and_by_what_it_is_for(profile: TileProfile) -> None:
    assert profile.bytes_by_tile.tolist() == [4000, 8000, 12000, 16000]
    categories = profile.categories
    assert sum(categories.values()).tolist() == [4000, 8000, 12000, 16000]  # type: ignore[attr-defined]
    assert categories["code"].tolist() == [1000, 2000, 3000, 4000]
    assert profile.always_live_variables == [("weights", 10_000)]
    assert profile.fullest_step_variables == [("of step 5", 500)]
    assert profile.liveness[0] == ("arrange", 100)


def test_an_unknown_category_is_counted_as_other() -> None:
    given = document()
    given["compilation"]["tiles"][0]["memory"]["category"]["copyDescriptor"] = {"total": 7}
    assert TileProfile(given, layers=2).categories["stacks and others"][0] == 1007
