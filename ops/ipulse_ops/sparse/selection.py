"""`select_spikes`, the TensorFlow op of ipulse_ops.reference.select_spikes."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Union

import tensorflow as tf

from ipulse_ops.reference.select_spikes import POLICIES
from ipulse_ops.sparse.native import library
from ipulse_ops.sparse.seed import first_step_word, word64
from ipulse_ops.sparse.surrogate import ATTRIBUTES, attributes
from ipulse_ops.surrogate import SuperSpike, Surrogate, surrogate_of
from ipulse_ops.unsupported import refuse_second_order
from ipulse_ops.validation import choice, whole


class Selected(NamedTuple):
    """Who has a slot, all float32: TensorFlow gives integers no gradient, and a loop that
    differentiates them meets None."""

    ids: Any  # [..., slots]: spiking, then gradient-only, then zeros
    counts: Any  # [..., 2]: spikes, spikes and gradient-only neurons
    dropped: Any  # [...]: spiking neurons without a slot


def select_spikes(
    u: Any,
    threshold: Any,
    second_threshold: Optional[Any] = None,
    capacity: Optional[int] = None,
    policy: str = "index",
    surrogate: Union[Surrogate, Dict[str, Any], str] = SuperSpike(),  # noqa: B008 (frozen)
    seed: Any = 0,
    first_step: Any = 0,
    layer: int = 0,
) -> Selected:
    """Choose the neurons of membranes `u` that get one of `capacity` slots, as
    ipulse_ops.reference.select_spikes.select_spikes does.

    u: float32 `[time, batch, neurons]`, or `[batch, neurons]` of one step.
    threshold, second_threshold: one number or `[neurons]`; without the second, all that do not
        spike are gradient-only.
    capacity: None gives every neuron a slot.
    surrogate: one of ipulse_ops.surrogate, or its name there.
    seed, first_step, layer: of the policy "cyclic", as in
        ipulse_ops.reference.select_spikes.cyclic_offsets;
        first_step is that of `u[0]`. seed and first_step may be tensors.

    The gradient that arrives at `ids` is the loss's by the spike of the neuron in that slot; it
    leaves by `u` and by `threshold`, as select_spikes_gradients says.

    Raises tf.errors.InvalidArgumentError (ValueError while tracing) if shapes do not fit, the
    capacity is above the neurons or a second threshold above its threshold; ValueError for any
    other argument out of range.
    """
    choice("policy", policy, POLICIES)
    slots = 0 if capacity is None else whole("capacity", capacity)
    u = tf.convert_to_tensor(u, tf.float32)
    threshold = _per_neuron(threshold, u)
    gated = second_threshold is not None
    second = _per_neuron(second_threshold, u) if gated else tf.zeros([0])
    found = library().ipulse_select_spikes(
        u=u,
        threshold=threshold,
        second_threshold=second,
        seed=word64(seed),
        first_step=first_step_word(first_step),
        gated=gated,
        capacity=slots,
        policy=policy,
        layer=whole("layer", layer, 0),
        **attributes(surrogate_of(surrogate)),
    )
    return Selected(*found)


def _per_neuron(value: Any, u: Any) -> Any:
    value = tf.convert_to_tensor(value, tf.float32)
    return tf.broadcast_to(value, tf.shape(u)[-1:]) if value.shape.rank == 0 else value


def _gradient(op: Any, grad_ids: Any, *_: Any) -> List[Any]:
    grad_u, grad_threshold = library().ipulse_select_spikes_grad(
        u=op.inputs[0],
        threshold=op.inputs[1],
        ids=op.outputs[0],
        counts=op.outputs[1],
        grad_slots=grad_ids,
        **{name: op.get_attr(name) for name in ATTRIBUTES},
    )
    return [grad_u, grad_threshold, None, None, None]


tf.RegisterGradient("IpulseSelectSpikes")(_gradient)
refuse_second_order("IpulseSelectSpikesGrad")
