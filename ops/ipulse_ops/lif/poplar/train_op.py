"""Runs training steps in TensorFlow with the Poplar op: loss and update on the device, too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import tensorflow as tf

from ipulse_ops.lif.network import Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.attributes import Wanted, attributes_of, states_of
from ipulse_ops.lif.poplar.outputs import output_specs, output_type, steps_between_checkpoints
from ipulse_ops.lif.poplar.sources import BuiltOp
from ipulse_ops.lif.poplar.user_op import PrecompiledUserOp, entering, outputs_of
from ipulse_ops.lif.run_options import LIFOutputs
from ipulse_ops.lif.weights import weight_shapes

# The last inputs of the op, in their order.
STEP_INPUTS = ("labels", "mask", "rate", "update")


@dataclass(frozen=True)
class DeviceTraining:
    """The loss and the optimizer of a training step on the device.

    loss: cross-entropy of the softmax of the readout's membrane: its mean over time, the last one,
        or each, of which the loss is the mean; or "own_loss", of a vertex in the codelets, which
        may have regularisers.
    class_rows, step_rows: memory that this vertex needs, rows of one number per class or step.
    neuron_values: the numbers that its rows of one per neuron have.
    right: what it reads: "label", "target" or "step_target".
    reads: what it reads of layers, each "membrane" or "spikes" with the number of a layer.
    clip_value: the largest absolute value of a gradient; 0: any.
    clip_norm: the largest norm of all gradients together, after that; 0: any.
    frozen: numbers of the layers whose weights stay as they are.
    optimizer: "adam", with decoupled weight decay of matrices, or "sgd".
    half: matrices are float16 on the device, also between steps; sums, moments and gradients are
        float32.
    half_states: membranes and synapses are float16 between time steps.
    stochastic_rounding: of matrices in float16, by random numbers of `key`, 0 to 2^32 - 1, and of
        states in float16, by those of the step's seed; without it they are rounded to the nearest
        number.
    """

    loss: str = "mean_membrane"
    optimizer: str = "adam"
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7
    weight_decay: float = 0.0
    momentum: float = 0.0
    nesterov: bool = False
    half: bool = False
    half_states: bool = False
    stochastic_rounding: bool = False
    key: int = 0
    class_rows: int = 1
    step_rows: int = 1
    neuron_values: int = 1
    right: str = "label"
    reads: Tuple[Tuple[str, int], ...] = ()
    clip_value: float = 0.0
    clip_norm: float = 0.0
    frozen: Tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """The part of the attribute string in front of the network's."""
        flags = [self.loss, self.optimizer]
        flags += [name for name in ("nesterov", "stochastic_rounding") if getattr(self, name)]
        flags += [self.right] if self.right != "label" else []
        numbers = ["beta_1", "beta_2", "epsilon", "weight_decay", "momentum"]
        numbers += ["clip_value", "clip_norm"]
        values = [f"{name}={float(getattr(self, name))!r}" for name in numbers]
        wholes = ("key", "class_rows", "step_rows", "neuron_values")
        values += [f"{name}={getattr(self, name)}" for name in wholes]
        reads = ",".join(f"{what}:{layer}" for what, layer in self.reads)
        values.append(f"reads={reads or 'none'}")
        values.append(f"frozen={','.join(map(str, self.frozen)) or 'none'}")
        return " ".join(["ipulse-train/1", *flags, *values])


class TrainedStep(NamedTuple):
    """The results of a training step."""

    out: LIFOutputs
    losses: Any  # float32 [batch]
    penalties: Any  # float32 [batch], of the regularisers; None of losses that have none
    weights: List[Any]  # as the arguments of the same names, after the update
    means: List[Any]
    squares: List[Any]


def run_training_step(
    network: Network,
    training: DeviceTraining,
    weights: Sequence[Any],
    means: Sequence[Any],
    squares: Sequence[Any],
    ids: Any,
    counts: Any,
    labels: Any,
    mask: Any,
    rate: Any,
    update: Any,
    precompiled_user_op: PrecompiledUserOp,
    built: BuiltOp,
    constants: Optional[Sequence[Mapping[str, Any]]] = None,
    seed: Any = 0,
    placement: Placement = Placement(),
    memory: str = "slots",
) -> TrainedStep:
    """Run forward pass, loss, backward pass and update as one program.

    means, squares: the optimizer's state by weight, None for those of frozen layers; empty where
        the optimizer has none. The momenta of SGD are `means`.
    ids, counts, constants, seed, placement, memory: as for run_user_op.
    labels: int32 `[batch]`, or targets as float32 `[batch, classes]` or `[batch, time, classes]`,
        as `training.right` says. mask: float32 `[batch]`, 1 for samples that count.
    rate: float32 scalar. update: int32 scalar, the number of the update from 1.

    Raises what run_user_op raises.
    """
    ids, counts = tf.cast(ids, tf.int32), tf.cast(counts, tf.int32)
    steps, batch, slots = ids.shape.as_list()
    dtype = "float16" if training.half_states else "float32"
    hidden = len(network.layers)
    membranes = any(what == "membrane" and layer < hidden for what, layer in training.reads)
    wanted = Wanted(membranes, states=states_of(dtype, training.stochastic_rounding))
    if memory == "recompute":
        between = steps_between_checkpoints(network, steps, batch, wanted, placement)
        wanted = replace(wanted, recompute=between)
    if training.half:
        weights = [tf.cast(w, tf.float16) if len(w.shape) == 2 else w for w in weights]
    inputs, places = entering(network, weights, ids, counts, constants, seed, wanted)
    number = {place: at for at, place in enumerate(places)}  # of the weights
    nothing = tf.zeros([1], tf.float32)

    def state(of: Sequence[Any]) -> List[Any]:
        known = {at: of[place] for at, place in number.items()} if of else {}
        return [nothing if known.get(at) is None else known[at] for at in range(len(inputs))]

    of_step = {
        "labels": tf.cast(labels, tf.int32 if training.right == "label" else tf.float32),
        "mask": tf.cast(mask, tf.float32),
        "rate": tf.reshape(tf.cast(rate, tf.float32), [1]),
        "update": tf.reshape(tf.cast(update, tf.int32), [1]),
    }
    specs = output_specs(network, steps, batch, wanted, placement)
    of_samples = 2 if training.loss == "own_loss" else 1  # losses, penalties
    kept = [*inputs, *state(means), *state(squares)]
    found = precompiled_user_op(
        [*kept, *(of_step[name] for name in STEP_INPUTS)],
        str(built.library),
        gp_path=str(built.codelets),
        outs={
            "output_types": [
                *(tensor.dtype for tensor in kept),
                *[tf.float32] * of_samples,
                *(tf.as_dtype(output_type(name, wanted)) for name, _, _ in specs),
            ],
            "output_shapes": [
                *(tensor.shape for tensor in kept),
                *[tf.TensorShape([batch])] * of_samples,
                *(tf.TensorShape(shape) for _, _, shape in specs),
            ],
        },
        name="ipulse_train",
        op_name="Train",
        inputs_with_gradients=[],
        attributes=f"{training.words} {attributes_of(network, slots, placement, wanted)}",
    )
    n = len(inputs)

    def updated(kind: int, of: Sequence[Any]) -> List[Any]:
        return [tf.cast(found[kind * n + at], tf.float32) for at in places] if of else []

    return TrainedStep(
        out=outputs_of(specs, found[3 * n + of_samples :]),
        losses=found[3 * n],
        penalties=found[3 * n + 1] if of_samples > 1 else None,
        weights=updated(0, weight_shapes(network)),
        means=updated(1, means),
        squares=updated(2, squares),
    )
