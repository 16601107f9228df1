"""A convolution of sparse spikes, without neurons, as a differentiable TensorFlow op on the CPU."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, List, Optional

import numpy as np
import tensorflow as tf

from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.lif.conv_geometry import geometry_attribute
from ipulse_ops.lif.cpu import native, op_library
from ipulse_ops.lif.input_spikes import input_spikes
from ipulse_ops.unsupported import refuse_second_order, refuse_xla
from ipulse_ops.validation import instance, whole


def spike_conv(
    geometry: ConvGeometry,
    kernel: Any,
    ids: Any,
    counts: Any,
    bias: Optional[Any] = None,
    input_scale: float = 1.0,
    threads: int = 0,
    arch: Optional[int] = None,
) -> Any:
    """Convolve spikes: float32 `[time, batch, neurons]`, the current of every neuron.

    Neurons are numbered (y * width + x) * filters + filter; the geometry's pool has no effect.
    The bias comes first, then the weights of the spikes in the order of their slots.

    The gradients of kernel and bias are sums over spikes, in 16 groups of samples. float32 ids
    receive the gradient of their filled slots, and 0 in the others. All equal those of
    ipulse_ops.conv.spike_conv_reference to the bit.

    kernel: float32 `[height, width, channels / groups, filters]`.
    ids, counts: as for ipulse_ops.conv.tensorflow_op.run_conv.
    bias: float32 `[filters]`, added at every step; None for none.
    input_scale: factor of the kernel.
    threads: 0 for all processors that the process may use; results do not depend on it.
    arch: mask of CPU features to use, None for all of this machine's; results do not depend on it.

    Raises what run_conv raises.
    """
    instance("geometry", geometry, ConvGeometry)
    refuse_xla()
    spikes = input_spikes(ids, counts)
    return _library().ipulse_spike_conv(
        ids=spikes.ids,
        counts=spikes.counts,
        port=spikes.port,
        filled=spikes.filled,
        weights=kernel,
        bias=np.zeros(0, np.float32) if bias is None else bias,
        geometry=geometry_attribute(geometry),
        weight_scale=input_scale,
        threads=whole("threads", threads, 0),
        arch=native.supported_arch() if arch is None else arch,
    )


def by_kernel(
    geometry: ConvGeometry, kernel: Any, ids: Any, counts: Any, grad_currents: Any, threads: int = 0
) -> Any:
    """Return the gradient of the kernel, as of spike_conv; grad_currents is that of its result."""
    spikes = input_spikes(tf.cast(ids, tf.int32), counts)
    found = _library().ipulse_spike_conv_grad(
        ids=spikes.ids,
        counts=spikes.counts,
        port=spikes.port,
        filled=spikes.filled,
        weights=kernel,
        bias=np.zeros(0, np.float32),
        grad_currents=grad_currents,
        geometry=geometry_attribute(geometry),
        weight_scale=1.0,
        threads=threads,
        arch=native.supported_arch(),
    )
    return found.grad_weights


_INPUTS = ("ids", "counts", "port", "filled", "weights", "bias")
_ATTRIBUTES = ("geometry", "weight_scale", "threads", "arch")


@lru_cache(maxsize=None)
def _library() -> Any:
    """Return the op library with the gradient of the convolution registered."""
    loaded = op_library.library()

    def gradient(op: Any, grad_currents: Any) -> List[Any]:
        inputs = dict(zip(_INPUTS, op.inputs))
        found = loaded.ipulse_spike_conv_grad(
            **inputs,
            grad_currents=grad_currents,
            **{name: op.get_attr(name) for name in _ATTRIBUTES},
        )
        by_port = found.grad_port if inputs["port"].shape.rank == 3 else None
        return [None, None, by_port, None, found.grad_weights, found.grad_bias]

    tf.RegisterGradient("IpulseSpikeConv")(gradient)
    refuse_second_order("IpulseSpikeConvGrad")
    return loaded
