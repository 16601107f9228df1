"""The float64 reference of convolutions: plain loops, and tangents against the adjoint."""

from typing import Any

import numpy as np
import pytest

from ipulse_ops.conv import reference
from ipulse_ops.lif.conv_layer import ConvLIF
from tests.ops.conv.cases import GEOMETRIES, case, variants


@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_convolution_is_the_sum_of_its_definition(name: str) -> None:
    of = case(name, 2, steps=1, batch=1)
    g = of.layer.geometry
    x = reference.planes_of(g.entering, of.ids, of.counts)
    found = reference.convolved(g, of.kernel.astype(np.float64), x)[0, 0]
    channels, filters = g.entering.channels // g.groups, g.filters // g.groups
    for y, column, f in np.ndindex(*g.size, g.filters):
        total = 0.0
        for ky, kx, c in np.ndindex(*g.kernel, channels):
            row = y * g.strides[0] - g.padding[0] + g.dilation[0] * ky
            place = column * g.strides[1] - g.padding[1] + g.dilation[1] * kx
            if 0 <= row < g.entering.height and 0 <= place < g.entering.width:
                channel = f // filters * channels + c
                total += float(x[0, 0, row, place, channel]) * float(of.kernel[ky, kx, c, f])
        assert found[y, column, f] == pytest.approx(total, abs=1e-12)


def _tangent(
    layer: ConvLIF, kernel: np.ndarray, run: reference.ConvRun, *tangents: np.ndarray
) -> np.ndarray:
    """Return the tangent of the spikes: phi times that of the membrane on the neurons that carry
    gradient, with the constants of reset_gradient left out."""
    d_kernel, d_bias, entering, d_entering = tangents
    geometry = layer.geometry

    def delayed(planes: np.ndarray) -> np.ndarray:
        moved = np.zeros_like(planes)
        moved[layer.delay :] = planes[: len(planes) - layer.delay]
        return moved

    d_current = reference.convolved(geometry, d_kernel * layer.input_scale, delayed(entering))
    d_current += reference.convolved(geometry, kernel * layer.input_scale, delayed(d_entering))
    d_current += d_bias
    phi = layer.surrogate.phi(run.u - layer.threshold) * run.carries
    d_spikes = np.zeros(run.u.shape)
    dv = np.zeros(run.u.shape[1:])
    for t in range(len(run.u)):
        du = layer.decay * dv + layer.scale * d_current[t]
        d_spikes[t] = phi[t] * du
        spiked, through = run.spikes[t], layer.reset_gradient
        dr = d_spikes[t] if through == "none" else 0.0
        if layer.reset == "none" or through == "term":
            dv = du
        elif layer.reset == "zero":
            dv = (1 - spiked) * du - run.u[t] * dr
        else:
            dv = du - layer.threshold * dr
    return d_spikes


@pytest.mark.parametrize("fields", list(variants()), ids=str)
def test_the_adjoint_is_the_transpose_of_the_tangent(fields: Any) -> None:
    rng = np.random.RandomState(11)
    for name in ("dilation", "groups", "strides"):
        of = case(name, 4, **{**fields, "bias": True})
        kernel = of.kernel.astype(np.float64)
        entering = reference.planes_of(of.layer.geometry.entering, of.ids, of.counts)
        run = reference.forward(of.layer, kernel, of.bias, entering)
        weights = rng.normal(size=run.u.shape)
        gradients = reference.backward(of.layer, kernel, entering, run, weights)
        assert gradients.bias is not None
        d_kernel, d_bias = rng.normal(size=kernel.shape), rng.normal(size=gradients.bias.shape)
        d_entering = rng.normal(size=entering.shape)
        d_spikes = _tangent(of.layer, kernel, run, d_kernel, d_bias, entering, d_entering)
        expected = float((weights * d_spikes).sum())
        found = (
            (gradients.kernel * d_kernel).sum()
            + (gradients.bias * d_bias).sum()
            + (gradients.entering * d_entering).sum()
        )
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-9)
