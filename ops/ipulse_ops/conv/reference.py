"""The reference implementation of convolutions with LIF neurons, in float64 NumPy.

One step t of a layer:

    I[t, y, x, f] = sum over k, c of W[k, c, f] x[t - delay, y', x', c] + bias[f]
    u[t] = decay v[t] + gain (1 - decay) I[t]       v[t] + gain I[t] where decay is 1
    s[t] = u[t] > threshold
    v[t + 1] = u[t] (1 - s[t]) | u[t] - threshold s[t] | u[t]    reset "zero" | "subtract" | "none"

with y' = y * stride - padding + dilation * k, x' alike; c are the channels of f's group, and W is
multiplied by input_scale. x counts the spikes at a site: several neurons of a pool's window may
spike at once. The pool sums s over windows without overlap. Neurons with u > second_threshold
carry gradient (all, if there is none), by these rules, from the last step to the first:

    e = dL/ds + Dr kappa
    lambda[t] = phi(u[t] - threshold) e + Du kappa       kappa = decay lambda[t + 1]
    dL/dI[t] = gain (1 - decay) lambda[t]

with Du, Dr and reset_gradient as in ipulse_ops.lif.reference.network_pass.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional, Tuple

import numpy as np

from ipulse_core.spec.conv_geometry import ConvGeometry, Planes
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.lif.reference.delay import earlier, later
from ipulse_ops.reference.spikes import check_shape, sparse_to_dense


class ConvRun(NamedTuple):
    """Values of a layer, `[time, batch, height, width, filters]`."""

    u: np.ndarray  # float64
    spikes: np.ndarray  # bool
    carries: np.ndarray  # bool: the neurons that carry gradient
    pooled: np.ndarray  # float64, [time, batch, pooled height, pooled width, filters]


class ConvGradients(NamedTuple):
    """A loss's gradients of one layer, float64."""

    kernel: np.ndarray
    bias: Optional[np.ndarray]
    entering: np.ndarray  # dL/dx, [time, batch, height, width, channels]
    current: np.ndarray  # dL/dI, [time, batch, height, width, filters]


def planes_of(entering: Planes, ids: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Count the spikes at each site: float64 `[time, batch, height, width, channels]`.

    ids, counts: `[time, batch, slots]` and `[time, batch]`.
    """
    flat = sparse_to_dense(ids, counts, entering.sites).astype(np.float64)
    sizes = (entering.height, entering.width)
    if entering.channels_first:
        planes = flat.reshape(*flat.shape[:2], entering.channels, *sizes)
        return np.moveaxis(planes, 2, -1)
    return flat.reshape(*flat.shape[:2], *sizes, entering.channels)


def forward(
    layer: ConvLIF,
    kernel: np.ndarray,
    bias: Optional[np.ndarray],
    entering: np.ndarray,
    recurrent: Optional[np.ndarray] = None,
) -> ConvRun:
    """Run a layer from rest on counts of spikes, as `planes_of` returns them.

    recurrent: the kernel of its own spikes, with the sizes of geometry.recurrent; None: none.
    """
    current = convolved(layer.geometry, kernel * layer.input_scale, later(entering, layer.delay))
    if bias is not None:
        current = current + bias
    u = np.zeros(current.shape)
    v = np.zeros(current.shape[1:])
    spikes = np.zeros(current.shape, dtype=bool)
    for t in range(len(current)):
        if recurrent is not None and t:
            own = spikes[t - 1][np.newaxis].astype(np.float64)
            current[t] += convolved(layer.geometry.recurrent, recurrent, own)[0]
        u[t] = layer.decay * v + layer.scale * current[t]
        spikes[t] = u[t] > layer.threshold
        v = _after_reset(layer, u[t], spikes[t])
    second = layer.second_threshold
    carries = np.ones(u.shape, dtype=bool) if second is None else u > second
    return ConvRun(u, spikes, carries, pooled(layer.geometry, spikes.astype(np.float64)))


def backward(
    layer: ConvLIF,
    kernel: np.ndarray,
    entering: np.ndarray,
    run: ConvRun,
    grad_spikes: np.ndarray,
) -> ConvGradients:
    """Return the gradients of a layer.

    grad_spikes: dL/ds of every neuron, of the shape of `run.u`.
    """
    check_shape("grad_spikes", grad_spikes, run.u.shape)
    phi = layer.surrogate.phi(run.u - layer.threshold) * run.carries
    by_u, by_r = _reset_derivatives(layer, run)
    current = np.zeros(run.u.shape)
    kappa = np.zeros(run.u.shape[1:])
    for t in reversed(range(len(current))):
        total = phi[t] * (grad_spikes[t] + by_r[t] * kappa) + by_u[t] * kappa
        current[t] = layer.scale * total
        kappa = layer.decay * total
    by_kernel, by_entering = convolved_adjoint(
        layer.geometry, kernel * layer.input_scale, later(entering, layer.delay), current
    )
    return ConvGradients(
        kernel=layer.input_scale * by_kernel,
        bias=current.sum(axis=(0, 1, 2, 3)) if layer.bias else None,
        entering=earlier(by_entering, layer.delay),
        current=current,
    )


def convolved(geometry: ConvGeometry, kernel: np.ndarray, entering: np.ndarray) -> np.ndarray:
    """Return the convolution, float64 `[time, batch, height, width, filters]`."""
    check_shape("kernel", kernel, geometry.weights)
    padded = _padded(geometry, entering)
    out = np.zeros((*entering.shape[:2], *geometry.size, geometry.filters))
    for tap, window, channels, filters in _taps(geometry):
        out[..., filters] += padded[window][..., channels] @ kernel[tap][:, filters]
    return out


def convolved_adjoint(
    geometry: ConvGeometry, kernel: np.ndarray, entering: np.ndarray, by_current: np.ndarray
) -> Tuple[np.ndarray, np.ndarray]:
    """Return the gradients of `convolved` with respect to the kernel and to the planes.

    by_current: the loss's derivative with respect to the convolution.
    """
    check_shape("kernel", kernel, geometry.weights)
    padded = _padded(geometry, entering)
    by_kernel, by_padded = np.zeros(kernel.shape), np.zeros(padded.shape)
    for tap, window, channels, filters in _taps(geometry):
        here = by_current[..., filters]
        by_kernel[tap][:, filters] = np.einsum(
            "tbyxc,tbyxf->cf", padded[window][..., channels], here, optimize=True
        )
        by_padded[window][..., channels] += here @ kernel[tap][:, filters].T
    (top, left), planes = geometry.padding, geometry.entering
    return by_kernel, by_padded[:, :, top : top + planes.height, left : left + planes.width]


def pooled(geometry: ConvGeometry, planes: np.ndarray) -> np.ndarray:
    """Sum `[time, batch, height, width, filters]` over the pool's windows."""
    height, width = geometry.pool
    rows, columns = geometry.pooled.height, geometry.pooled.width
    cropped = planes[:, :, : rows * height, : columns * width]
    windows = cropped.reshape(*planes.shape[:2], rows, height, columns, width, geometry.filters)
    total: np.ndarray = windows.sum(axis=(3, 5))
    return total


def _padded(geometry: ConvGeometry, planes: np.ndarray) -> np.ndarray:
    """Add zeros around the planes, as far as the kernel reaches."""
    rest = []
    for at, length in enumerate(planes.shape[2:4]):
        reach = (geometry.size[at] - 1) * geometry.strides[at]
        reach += (geometry.kernel[at] - 1) * geometry.dilation[at] + 1
        before = geometry.padding[at]
        rest.append((before, max(reach - before - length, 0)))
    return np.pad(planes, [(0, 0), (0, 0), *rest, (0, 0)], "constant")


def _taps(
    geometry: ConvGeometry,
) -> Iterator[Tuple[Tuple[int, int], Tuple[slice, ...], slice, slice]]:
    """Yield each tap, what it sees of padded planes, and each group's channels and filters."""
    everything = slice(None)
    channels = geometry.entering.channels // geometry.groups
    filters = geometry.filters // geometry.groups
    for ky in range(geometry.kernel[0]):
        for kx in range(geometry.kernel[1]):
            window = [everything, everything]
            for at, tap in enumerate((ky, kx)):
                first = tap * geometry.dilation[at]
                stride = geometry.strides[at]
                window.append(slice(first, first + (geometry.size[at] - 1) * stride + 1, stride))
            for group in range(geometry.groups):
                yield (
                    (ky, kx),
                    tuple(window),
                    slice(group * channels, (group + 1) * channels),
                    slice(group * filters, (group + 1) * filters),
                )


def _after_reset(layer: ConvLIF, u: np.ndarray, spikes: np.ndarray) -> np.ndarray:
    if layer.reset == "zero":
        return np.where(spikes, 0, u)
    return u - layer.threshold * spikes if layer.reset == "subtract" else u


def _reset_derivatives(layer: ConvLIF, run: ConvRun) -> Tuple[np.ndarray, np.ndarray]:
    """Return Du and Dr."""
    zeros, ones = np.zeros(run.u.shape), np.ones(run.u.shape)
    by_u, by_r = {
        "zero": (1.0 - run.spikes, -run.u),
        "subtract": (ones, zeros - layer.threshold),
        "none": (ones, zeros),
    }[layer.reset]
    if layer.reset_gradient == "none":
        return by_u, by_r
    return (by_u if layer.reset_gradient == "mask" else ones), zeros
