"""The description of one convolution with LIF neurons, for the reference, the kernel and Keras."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.lif.network import MAX_DELAY, RESET_GRADIENTS, RESETS
from ipulse_ops.lif.neuron_constants import current_scale
from ipulse_ops.surrogate import SURROGATES, SuperSpike, Surrogate
from ipulse_ops.validation import choice, flag, instance, whole


@dataclass(frozen=True)
class ConvLIF:
    """Leaky integrate-and-fire neurons behind a convolution, and a sum pool of their spikes.

    geometry: sizes of the input, the kernel, the neurons and the pool.
    decay, threshold, second_threshold, gain: as of ipulse_ops.lif.network.LIF, one number for all
        neurons; the threshold must be above 0.
    bias: True adds a trained current per filter at every step.
    input_scale: factor of the kernel, as after an average pool: 1 / (sites of its window).
    reset, reset_gradient, delay, surrogate: as of ipulse_ops.lif.network.Network. The delay
        applies to the layer's own input spikes.

    Raises ValueError if a field is out of range.
    """

    geometry: ConvGeometry
    decay: float = 0.95
    threshold: float = 1.0
    second_threshold: Optional[float] = None
    gain: float = 10.0
    bias: bool = False
    input_scale: float = 1.0
    reset: str = "zero"
    reset_gradient: str = "mask"
    delay: int = 0
    surrogate: Surrogate = SuperSpike()

    def __post_init__(self) -> None:
        instance("geometry", self.geometry, ConvGeometry)
        instance("surrogate", self.surrogate, *SURROGATES.values())
        flag("bias", self.bias)
        choice("reset", self.reset, RESETS)
        choice("reset_gradient", self.reset_gradient, RESET_GRADIENTS)
        whole("delay", self.delay, 0, MAX_DELAY)
        for name in ("decay", "threshold", "gain", "input_scale"):
            _number(name, getattr(self, name))
        if not 0 <= self.decay <= 1:
            raise ValueError(f"decay must be at least 0 and at most 1; got {self.decay}")
        if not self.threshold > 0:
            raise ValueError(f"threshold must be above 0; got {self.threshold}")
        if self.second_threshold is not None:
            _number("second_threshold", self.second_threshold)
            if self.second_threshold > self.threshold:
                raise ValueError("second_threshold must not be above threshold")

    @property
    def scale(self) -> float:
        """The factor of the current that enters the membrane."""
        return float(current_scale(np.asarray(self.decay), np.asarray(self.gain)))


def _number(name: str, value: Any) -> None:
    number = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, bool) or not number or not abs(float(np.float32(value))) < np.inf:
        raise ValueError(f"{name} must be one finite number for all neurons; got {value!r}")
