"""`select_spikes` as a TensorFlow op."""

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
    """The neurons in slots, all float32, because TensorFlow's integers carry no gradient."""

    ids: Any  # [..., slots]: spiking, then gradient-only, then zeros
    counts: Any  # [..., 2]: spikes, filled slots
    dropped: Any  # [...]: spikes beyond the capacity


def select_spikes(
    u: Any,
    threshold: Any,
    second_threshold: Optional[Any] = None,
    capacity: Optional[int] = None,
    policy: str = "index",
    surrogate: Union[Surrogate, Dict[str, Any], str] = SuperSpike(),
    seed: Any = 0,
    first_step: Any = 0,
    layer: int = 0,
) -> Selected:
    """Choose the neurons that fill the slots of each sample and step.

    The rules are those of ipulse_ops.reference.select_spikes.

    u: membranes, float32 `[time, batch, neurons]`, or `[batch, neurons]` of one step.
    threshold, second_threshold: one number or `[neurons]`. Without a second threshold all neurons
        that do not spike are gradient-only.
    capacity: number of slots; None for one slot per neuron.
    surrogate: an instance from ipulse_ops.surrogate, or its name in SURROGATES.
    seed, first_step, layer: counter of the random numbers of the policy "cyclic", see
        ipulse_ops.reference.select_spikes.cyclic_offsets. first_step is the step of `u[0]`. seed
        and first_step may be tensors.

    The gradient that arrives at `ids` is dL/ds of the neuron in each slot. It flows to `u` and to
    `threshold` as in select_spikes_gradients.

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
