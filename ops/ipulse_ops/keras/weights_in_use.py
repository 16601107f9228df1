"""The weights that runs of a Keras layer read: its variables, standardised and quantised."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple, Union

from ipulse_ops.lif.weights import WeightShape
from ipulse_ops.quantisation import Quantisation
from ipulse_ops.training.quantised_weights import quantised
from ipulse_ops.training.standardised_weights import deviation_of, standardised
from ipulse_ops.validation import flag

Standardising = Union[bool, Sequence[bool]]


def standardised_layers(value: Standardising, layers: int) -> Tuple[bool, ...]:
    """Return the flag of each layer from one for all, or from one per layer and the readout.

    Raises ValueError if it is neither.
    """
    if isinstance(value, bool):
        return (value,) * layers
    if not isinstance(value, (list, tuple)) or len(value) != layers:
        raise ValueError(
            f"standardised must be one flag, or one for each of {layers} layers (the readout is "
            f"the last); got {value!r}"
        )
    return tuple(flag(f"standardised[{number}]", each) for number, each in enumerate(value))


def weights_in_use(
    kernels: Sequence[Any],
    shapes: Sequence[WeightShape],
    deviations: Sequence[Optional[Any]],
    rules: Sequence[Optional[Quantisation]],
) -> List[Any]:
    """Return the weights as runs read them.

    kernels, shapes: variables, and what ipulse_ops.lif.weights.weight_shapes says of them.
    deviations: the standard deviation of each layer's standardised weights, or None.
    rules: how each layer's matrices are quantised, or None.
    """
    found = []
    for kernel, shape in zip(kernels, shapes):
        deviation = deviations[shape.layer] if shape.role == "input" else None
        weights = kernel if deviation is None else standardised(kernel, deviation)
        found.append(quantised(weights, rules[shape.layer] if shape.is_matrix else None))
    return found


def match_deviations(
    kernels: Sequence[Any], shapes: Sequence[WeightShape], deviations: Sequence[Optional[Any]]
) -> None:
    """Set the standard deviations to those of the weights; the arguments are as above."""
    for kernel, shape in zip(kernels, shapes):
        deviation = deviations[shape.layer] if shape.role == "input" else None
        if deviation is not None:
            deviation.assign(deviation_of(kernel))
