"""Convolutions with equations, their neurons on emulated tiles: as on the CPU, to the bit."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np
import pytest

from ipulse_ops.conv.reference import convolved, convolved_adjoint, planes_of
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.equations.reference import equations_adjoint, run_equations
from ipulse_ops.keras.convolutions.convolution import Convolution
from ipulse_ops.keras.equations_layer import EquationsConvolution
from tests.ops.conv.cases import GEOMETRIES, Case, case
from tests.ops.equations.conv_layers import lif_equations, run_layer, weights_of_sites

Found = Tuple[List[np.ndarray], List[np.ndarray]]
TRAINED = {"decay": True, "theta": True}


def _run(of: Case, equations: LayerEquations, tiles: Any = None) -> Found:
    layer = EquationsConvolution(
        of.layer.geometry, equations, True, 1, of.layer.input_scale, tiles=tiles
    )
    return run_layer(layer, of)


@pytest.mark.parametrize("second", [None, 0.5])
@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.sample(0)
def test_lif_equations_on_tiles_have_the_bits_of_the_lif_kernel(name: str, second: Any) -> None:
    """All sums of these cases are exact."""
    of = case(name, 3, steps=6, dyadic=True, second_threshold=second, bias=True, input_scale=0.25)
    spikes, gradients = _run(of, lif_equations(of.layer), tiles=16)
    known, known_gradients = run_layer(Convolution(of.layer), of)
    for one, other in zip([*spikes, *gradients], [*known, *known_gradients]):
        assert one.any()
        np.testing.assert_array_equal(one, other)


@pytest.mark.verify
@pytest.mark.parametrize(("tiles", "second"), [(5, 0.4), (64, None)])
@pytest.mark.parametrize("name", ["cropped", "strides", "dilation", "groups"])
def test_tiles_have_the_bits_of_the_cpu(name: str, tiles: int, second: Any) -> None:
    of = case(name, 5, bias=True, second_threshold=second)
    equations = lif_equations(of.layer, "subtract", **TRAINED)
    spikes, (*gradients, by_decay, by_theta) = _run(of, equations, tiles)
    on_cpu, (*wanted, cpu_decay, cpu_theta) = _run(of, equations)
    for one, other in zip([*spikes, *gradients], [*on_cpu, *wanted]):
        assert one.any()
        np.testing.assert_array_equal(one, other)
    filters = (of.layer.geometry.filters,)
    for one, other in ((by_decay, cpu_decay), (by_theta, cpu_theta)):  # float32 sums over steps
        assert one.shape == filters
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())


@pytest.mark.verify
@pytest.mark.parametrize("name", ["cropped", "strides", "groups"])
def test_gradients_are_near_to_those_in_float64(name: str) -> None:
    of = case(name, 6, bias=True, second_threshold=0.4)
    equations = lif_equations(of.layer, **TRAINED)
    _, (kernel, bias, _, *own) = _run(of, equations, tiles=16)
    wanted = _reference(of, equations)
    for name_of, one in zip(["kernel", "bias", "decay", "theta"], [kernel, bias, *own]):
        other = wanted[name_of]
        assert other.any()
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * np.abs(other).max())


def _reference(of: Case, equations: LayerEquations) -> Dict[str, np.ndarray]:
    """Gradients in float64."""
    geometry, scale = of.layer.geometry, of.layer.input_scale
    entering = planes_of(geometry.entering, of.ids, of.counts)
    kernel = of.kernel.astype(np.float64) * scale
    planes = convolved(geometry, kernel, entering) + of.bias
    values = equations.values()
    trace = run_equations(equations, values, planes.reshape(*planes.shape[:2], -1))
    sites = np.array(geometry.site_of)
    by_site = weights_of_sites(of).astype(np.float64)
    by_spikes = np.where(sites < 0, 0, by_site[..., np.maximum(sites, 0)])
    found = equations_adjoint(equations, values, trace, by_spikes)
    by_current = found.current.reshape(planes.shape)
    by_kernel, _ = convolved_adjoint(geometry, kernel, entering, by_current)
    by_bias = by_current.sum(axis=(0, 1, 2, 3))
    return {"kernel": by_kernel * scale, "bias": by_bias, **found.parameters}
