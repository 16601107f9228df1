"""The table of neuron constants, and the types that declare its rows once more for editors."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Set

import numpy as np
import pytest

from ipulse_core.neurons.constants import IN_KERNELS, ROWS, Bounds, constants_of
from ipulse_ops.lif.layer_constants import constants
from ipulse_ops.lif.layers import LIF, LeakyReadout
from ipulse_ops.lif.reference.trace import ConstantGradients


@pytest.mark.parametrize(("layer", "spikes"), [(LIF, True), (LeakyReadout, False)])
def test_layers_declare_the_rows_with_their_defaults(layer: Any, spikes: bool) -> None:
    declared = {field.name: field.default for field in fields(layer)}
    expected = {row.name: row.default for row in constants_of(spikes)}
    assert expected == {name: declared[name] for name in declared if name in vars_of_table()}


def vars_of_table() -> Set[str]:
    return {row.name for row in ROWS}


def test_the_reference_has_a_gradient_by_each_trained_constant() -> None:
    names = {field.name for field in fields(ConstantGradients)}
    assert names == {row.name for row in ROWS if row.is_trained}


@pytest.mark.parametrize("row", [row for row in ROWS if row.bounds != Bounds()])
def test_numbers_out_of_bounds_are_refused(row: Any) -> None:
    others = {"adaptation_decay": 0.5, "adaptation_strength": 0.5}  # a layer has both or none
    assert getattr(LIF(3, **{**others, row.name: 0.5}), row.name) == 0.5
    with pytest.raises(ValueError, match=f"{row.name} must be {row.bounds}"):
        LIF(3, **{**others, row.name: [0.5, -0.1, 0.5]})


def test_kernels_receive_an_array_for_each_row() -> None:
    given = vars(constants(LIF(3, synapse_decay=0.25)))
    assert list(given) == [row.array for row in IN_KERNELS]
    np.testing.assert_array_equal(given["synapse_decay"], np.full(3, 0.25, np.float32))
    assert given["adaptation_decay"] is None
