"""The features that a kind of layer or device has no field for, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Tuple

from ipulse_core.registry.features import FEATURES
from ipulse_core.registry.refusals import MATHEMATICS, NOT_WRITTEN

OTHERWISE = "otherwise"  # the kind has it in another form


@dataclass(frozen=True)
class Absence:
    """A feature that a kind of layer or device has no field for.

    cause: NOT_WRITTEN, MATHEMATICS, or OTHERWISE where the kind has it in another form.
    reason: a sentence.
    fix: what to do instead.
    """

    cause: str
    reason: str
    fix: str = "remove it"


_CONVS = ("conv1d", "conv2d")
_CONV_EQUATIONS = ("conv1d_equations", "conv2d_equations")
_OWN = ("equations", *_CONV_EQUATIONS)
_PARTS = (*_OWN, "package", "op")
_DENSE = ("dense", "leaky", "spiking")
_WEIGHTS, _DELAYS = ("standardised", "quantisation"), ("synapse_delays", "trained_delays")
_OF_SPIKES = ("second_threshold", "gate", "capacity", "growing_capacity", "cyclic", "top")


# Features, kinds of layers or devices without a field for them, cause and reason. The first row of
# a feature and a kind counts.
_ROWS: Tuple[Tuple[Tuple[str, ...], Tuple[str, ...], str, str], ...] = (
    (("bias",), ("op",), OTHERWISE, "a custom op declares weights of its own in its manifest"),
    (("gate",), ("dense", "spiking", *_CONVS), OTHERWISE, "LIF neurons have second_threshold"),
    (("second_threshold",), _OWN, OTHERWISE, "neurons with equations have gate"),
    (
        (*_OF_SPIKES, "recurrent", "adaptation", "spike_count", "first_spikes"),
        ("leaky",),
        MATHEMATICS,
        "leaky integrators do not spike",
    ),
    (
        ("max_membrane", "last_membrane", "step_membrane"),
        ("spiking",),
        MATHEMATICS,
        "a readout that spikes has a loss of spikes",
    ),
    (
        tuple(name for name in FEATURES if name.startswith("reset_")),
        _PARTS,
        OTHERWISE,
        "the layer has its own reset",
    ),
    (
        ("arctan", "boxcar", "exponential", "table"),
        ("package", "op"),
        OTHERWISE,
        "the layer has its own gradient",
    ),
    (
        ("truncation",),
        ("op",),
        OTHERWISE,
        "a custom op has its own gradient, through all steps of a sample",
    ),
    (
        ("sum_pool", "average_pool"),
        (*_DENSE, "equations", "package", "op"),
        MATHEMATICS,
        "a pool is of the neurons of an image",
    ),
    (("parameters",), (*_DENSE, *_CONVS), OTHERWISE, "LIF neurons have constants"),
    (("parameters",), ("op",), OTHERWISE, "a custom op declares its weights in its manifest"),
    (("synapse", "adaptation"), _OWN, OTHERWISE, "it is written as equations"),
    (
        ("synapse", "adaptation", "second_threshold", "gate"),
        ("package",),
        OTHERWISE,
        "it is in the package's own step and gradient",
    ),
    (
        ("per_neuron", "synapse", "adaptation", "second_threshold", "gate", "recurrent"),
        ("op",),
        OTHERWISE,
        "a custom op is connections and neurons at once, with its own step and gradient",
    ),
    (
        (*_WEIGHTS, *_DELAYS, "dropout"),
        ("op",),
        MATHEMATICS,
        "a custom op has no connections that IPUlse knows",
    ),
    (
        ("several_ipus", "half_weights", "half_states", "device_training"),
        ("cpu",),
        MATHEMATICS,
        "a CPU has no tiles",
    ),
    (("rounded_weights",), ("emulator", "ipu"), MATHEMATICS, "IPUs have no bfloat16"),
    (("device_training",), ("ipu",), OTHERWISE, "on an IPU a step is one program anyway"),
    (
        ("half_weights",),
        ("ipu",),
        NOT_WRITTEN,
        "on an IPU Keras updates the weights, which are float32",
    ),
)
# What to do instead, where removing the field is not all.
_FIXES: Dict[Tuple[str, str], str] = {
    ("half_weights", "ipu"): "remove it; states_dtype may be float16 there, and kind emulator with "
    "training device has weights of float16",
}

ABSENT: Dict[Tuple[str, str], Absence] = {
    (name, kind): Absence(cause, reason, _FIXES.get((name, kind), "remove it"))
    for names, kinds, cause, reason in reversed(_ROWS)
    for name in names
    for kind in kinds
}
