"""Weights as small integers times a scale: the rule, and the reference implementation in NumPy.

A matrix `[..., neurons]` is replaced by

    scale = m / Q, rounded up to 16 significant bits      with a power of two: up to the next one
    integers = W / scale, rounded, halves to the even one
    weights in use = integers * scale

where m is the largest absolute weight of a neuron or of the layer, and Q is 127 for 8 bits and 7
for 4 bits. All operations are in float32. The product is exact, and weights that are quantised
twice are those that were quantised once. Where m is below 2^-100, the scale is 1 and the integers
are 0. The gradient passes straight through: dL/dW is the gradient at the weights in use (Bengio,
Leonard and Courville, 2013, arXiv:1308.3432; Jacob et al., 2018, doi:10.1109/CVPR.2018.00286).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ipulse_ops.validation import choice, flag, instance

LARGEST = {4: 7, 8: 127}  # integer, by bits
SCALES = ("neuron", "layer")
TINY = np.float32(2.0**-100)
_LOST_BITS = 8  # of the 24 of a float32, so that the scale has 16
_MANTISSA_BITS = 23


@dataclass(frozen=True)
class Quantisation:
    """How the weights of a layer are quantised.

    bits: 8 for integers from -127 to 127, 4 for -7 to 7.
    scale: "neuron" for one scale per receiving neuron (of a convolution: per filter), "layer" for
        one scale of a matrix.
    power_of_two: True makes scales powers of two, so that a sum of fewer than 2^17 weights is
        exact in float32, as in integer arithmetic.

    Raises ValueError if a field is out of range.
    """

    bits: int = 8
    scale: str = "neuron"
    power_of_two: bool = False

    def __post_init__(self) -> None:
        if self.bits not in LARGEST or isinstance(self.bits, bool):
            raise ValueError(f"bits must be 4 or 8; got {self.bits!r}")
        choice("scale", self.scale, SCALES)
        flag("power_of_two", self.power_of_two)

    @property
    def reciprocal(self) -> np.float32:
        """1 / Q, rounded down to float32."""
        exact = 1 / LARGEST[self.bits]
        rounded = np.float32(exact)
        return rounded if float(rounded) <= exact else np.nextafter(rounded, np.float32(0))

    @property
    def cut_bits(self) -> int:
        """The bits of a float32 scale that are zero."""
        return _MANTISSA_BITS if self.power_of_two else _LOST_BITS

    def axes(self, rank: int) -> Tuple[int, ...]:
        """Return the axes of a matrix that have one scale."""
        return tuple(range(rank if self.scale == "layer" else rank - 1))


class QuantisedWeights(NamedTuple):
    """Integers and their scale; the product has the shape of the integers."""

    integers: np.ndarray  # int8 [..., neurons]
    scale: np.ndarray  # float32 [neurons], or [1] with one for the layer

    @property
    def weights(self) -> np.ndarray:
        """The weights in use, float32."""
        product: np.ndarray = self.integers.astype(np.float32) * self.scale
        return product


_Rule = Optional[Union[Quantisation, Dict[str, Any]]]
Quantising = Union[_Rule, Sequence[_Rule]]


def quantise(weights: np.ndarray, rule: Quantisation) -> QuantisedWeights:
    """Return the integers and the scale of finite weights, float32 `[..., neurons]`."""
    weights = np.asarray(weights, np.float32)
    axes = rule.axes(weights.ndim)
    most = np.abs(weights).max(axis=axes, keepdims=True, initial=0)
    carry = np.int32(2**rule.cut_bits - 1)
    bits = (most * rule.reciprocal).astype(np.float32).view(np.int32)
    scale = ((bits + carry) & ~carry).view(np.float32)
    scale = np.where(most < TINY, np.float32(1), scale)
    integers = np.rint(weights / scale).astype(np.int8)
    return QuantisedWeights(integers, scale.reshape(-1))


def quantisation_of(value: Quantising, layers: int) -> Tuple[Optional[Quantisation], ...]:
    """Return the rule of each layer from one for all, or from one per layer and the readout.

    A rule may be its fields, as in `get_config`. Raises ValueError if it is out of range.
    """
    if value is None or isinstance(value, (Quantisation, dict)):
        value = [value] * layers
    if not isinstance(value, (list, tuple)) or len(value) != layers:
        raise ValueError(
            f"quantisation must be one Quantisation, or one or None for each of {layers} layers "
            f"(the readout is the last); got {value!r}"
        )
    return tuple(_rule(number, rule) for number, rule in enumerate(value))


def _rule(number: int, value: _Rule) -> Optional[Quantisation]:
    rule = Quantisation(**value) if isinstance(value, dict) else value
    if rule is not None:
        instance(f"quantisation[{number}]", rule, Quantisation)
    return rule
