"""Convolutions in specs for emulated and real IPUs."""

from typing import Any

import pytest

from ipulse.spec import parse_spec
from tests.ipulse.spec.test_convolutions import CONV, LAYER, NEURON, OWN, document, problems

TILES = {"kind": "emulator"}
DENSE = {"kind": "equations", "neurons": 7, "neuron": NEURON}
SMALL = {"batch_size": 16}


@pytest.mark.parametrize(
    "layers", [[OWN, OWN, DENSE, {"neurons": 5}], [OWN, CONV, {"neurons": 5}], [CONV, OWN], [CONV]]
)
def test_tiles_take_convolutions(layers: Any) -> None:
    assert parse_spec(document(*layers, device=TILES)).device.kind == "emulator"
    rows = [{**each, "kind": "conv1d"} if each.get("kind") == "conv2d" else each for each in layers]
    parse_spec(document(*rows, data={"kind": "shd"}, device=TILES))


def test_tiles_have_ids_of_16_bits() -> None:
    wide = {**OWN, "filters": 100, "kernel_size": 1, "pool": None}
    for behind in ([], [{"neurons": 5}]):
        (problem,) = problems(document(wide, *behind, device=TILES, training=SMALL))
        assert problem[0] == f"{LAYER}/filters"
        assert "115,600" in problem[1]
    parse_spec(document(wide, DENSE, device=TILES, training=SMALL))
    parse_spec(document(wide, training=SMALL))


@pytest.mark.parametrize("layer", [{**OWN, "kernel_size": 1}, {**CONV, "kernel_size": 1}])
def test_pools_on_tiles_count_in_16_bits(layer: Any) -> None:
    layer = {**layer, "pool": {}}
    fits, wide = ({**layer, "filters": filters} for filters in (56, 57))  # of 34 x 34 positions
    parse_spec(document(fits, DENSE, device=TILES, training=SMALL))
    (problem,) = problems(document(wide, DENSE, device=TILES, training=SMALL))
    assert problem[0] == f"{LAYER}/filters"
    assert "65,892" in problem[1]
    parse_spec(document(wide, DENSE, training=SMALL))


@pytest.mark.parametrize("kind", ["emulator", "ipu"])
@pytest.mark.parametrize(("field", "value"), [("ipus", 2), ("states_dtype", "float16")])
def test_what_one_program_has_is_refused_at_its_place(kind: str, field: str, value: Any) -> None:
    parse_spec(document(CONV, {"neurons": 5}, device={"kind": kind}))
    (problem,) = problems(document(CONV, {"neurons": 5}, device={"kind": kind, field: value}))
    assert problem[0] == f"/device/{field}"


def test_the_loss_is_on_the_host() -> None:
    (problem,) = problems(document(CONV, {"neurons": 5}, device={**TILES, "training": "device"}))
    assert problem[0] == "/device/training"


def test_layers_behind_that_are_programs_of_their_own_run_on_the_emulator() -> None:
    behind = {"neurons": 5, "dropout": 0.1}
    parse_spec(document(CONV, behind, device=TILES))
    (problem,) = problems(document(CONV, behind, device={"kind": "ipu"}))
    assert problem[0] == "/network/layers/1/dropout"


def test_equations_are_not_for_ipus() -> None:
    (problem,) = problems(document(CONV, OWN, device={"kind": "ipu"}))
    assert problem[0] == "/network/layers/1/kind"
