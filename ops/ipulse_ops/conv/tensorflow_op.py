"""Convolutions with LIF neurons as a differentiable TensorFlow op, on the CPU.

A layer's output lists pooled sites. The slots of a step hold the site of every spike, by ascending
neuron, so that a site may be listed several times and counts each time; then every site of which a
neuron carries gradient and does not spike, ascending. The number of slots is that of the longest
list. The gradient that arrives at `spike_ids` is dL/ds: of the spiking neuron, or of each other
neuron of the site that carries gradient.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Dict, List, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from ipulse_ops.lif.conv_geometry import geometry_attribute
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.lif.cpu import abi, native, op_library
from ipulse_ops.lif.input_spikes import input_spikes
from ipulse_ops.unsupported import refuse_second_order, refuse_xla
from ipulse_ops.validation import instance, whole


class ConvOutputs(NamedTuple):
    """Results of a layer over a whole sequence, float32."""

    spike_ids: Any  # [time, batch, slots]: pooled sites of spikes, gradient-only sites, zeros
    spike_counts: Any  # [time, batch, 2]: slots of spikes, filled slots
    activity: Any  # [time, batch, 2]: neurons that spike, neurons that carry gradient


def run_conv(
    layer: ConvLIF,
    kernel: Any,
    bias: Optional[Any],
    ids: Any,
    counts: Any,
    second_threshold: Optional[Any] = None,
    threads: int = 0,
    arch: Optional[int] = None,
    keep: bool = True,
) -> ConvOutputs:
    """Run a convolution from rest on input spikes.

    The outputs are differentiable with respect to kernel, bias and, if ids are float32, the input
    spikes. The backward pass runs the layer again: nothing but the spikes is stored.

    kernel: float32 `[height, width, channels / groups, filters]`.
    bias: float32 `[filters]`; None if the layer has none.
    ids: int32, uint16 or float32 `[time, batch, slots]`; a site listed twice counts twice.
    counts: any numeric type, `[time, batch]`; or `[time, batch, 2]`, spikes and filled slots.
    second_threshold: a scalar tensor that replaces the layer's.
    threads: 0 for all processors that the process may use; results do not depend on it.
    arch: mask of CPU features to use, None for all of this machine's; results do not depend on it.
    keep: False lists spikes only; computing a gradient is then an error.

    Raises ValueError for an argument out of range; tf.errors.InvalidArgumentError (ValueError while
    tracing) if shapes or numbers do not fit; NotImplementedError under XLA; MissingCompiler,
    BuildFailed on the first call.
    """
    instance("layer", layer, ConvLIF)
    refuse_xla()
    spikes = input_spikes(ids, counts)
    if (bias is not None) is not layer.bias:
        raise ValueError("a bias must be given exactly if the layer has one")
    nothing = np.zeros(0, np.float32)
    if layer.second_threshold is None:
        second = tf.constant(nothing)
    else:
        given = layer.second_threshold if second_threshold is None else second_threshold
        second = tf.reshape(tf.cast(given, tf.float32), [1])
    outputs = _library().ipulse_conv(
        ids=spikes.ids,
        counts=spikes.counts,
        port=spikes.port,
        filled=spikes.filled,
        weights=kernel,
        bias=nothing if bias is None else bias,
        second_threshold=second,
        keep=keep,
        threads=whole("threads", threads, 0),
        arch=native.supported_arch() if arch is None else arch,
        **_attributes(layer),
    )
    return ConvOutputs(*outputs)


def _attributes(layer: ConvLIF) -> Dict[str, Any]:
    surrogate = abi.surrogate(layer.surrogate)
    return {
        "geometry": geometry_attribute(layer.geometry),
        "delay": layer.delay,
        "reset": abi.RESET[layer.reset],
        "reset_gradient": abi.RESET_GRADIENT[layer.reset_gradient],
        "decay": layer.decay,
        "threshold": layer.threshold,
        "weight_scale": layer.scale * layer.input_scale,
        "bias_scale": layer.scale,
        "surrogate": surrogate.kind,
        "slope": surrogate.slope,
        "width": surrogate.width,
        "values": list(getattr(layer.surrogate, "values", ())),
    }


_INPUTS = ("ids", "counts", "port", "filled", "weights", "bias", "second_threshold")
_ATTRIBUTES = (
    *("geometry", "delay", "reset", "reset_gradient", "decay", "threshold", "weight_scale"),
    *("bias_scale", "surrogate", "slope", "width", "values", "threads", "arch"),
)


@lru_cache(maxsize=None)
def _library() -> Any:
    """Return the op library with the gradient of the convolution registered."""
    loaded = op_library.library()

    def gradient(op: Any, grad_ids: Any, *_: Any) -> List[Any]:
        if not op.get_attr("keep"):
            raise ValueError("this run kept nothing for a gradient: call it with keep=True")
        inputs = dict(zip(_INPUTS, op.inputs))
        found = loaded.ipulse_conv_grad(
            **inputs,
            spike_ids=op.outputs[0],
            spike_counts=op.outputs[1],
            grad_ids=grad_ids,
            **{name: op.get_attr(name) for name in _ATTRIBUTES},
        )
        by_port = found.grad_port if inputs["port"].shape.rank == 3 else None
        return [None, None, by_port, None, found.grad_weights, found.grad_bias, None]

    tf.RegisterGradient("IpulseConv")(gradient)
    refuse_second_order("IpulseConvGrad")
    return loaded
