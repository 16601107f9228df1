"""Values that follow from the fields of an experiment spec.

The service needs them to validate a spec and the runner to train it. The arguments are parts of
`ipulse.spec.ExperimentSpec` or of the document that the runner reads.
"""

from __future__ import annotations

import math
from typing import Any, List, Optional, Tuple

from ipulse_core.equations.loss import (
    FIRST_SPIKE,
    SPIKE_COUNT,
    STEP_TARGET,
    TARGET,
    equation_texts,
    names_in,
)
from ipulse_core.spec.kind_fields import field_of

# Losses of a spiking readout.
SPIKE_LOSSES = ("spike_count_cross_entropy", "spike_count_mse", "first_spike_cross_entropy")
# Losses of a leaky readout's membrane against target values.
REGRESSION_LOSSES = ("step_mse", "mean_membrane_mse", "last_membrane_mse")

# Kinds of data with a fixed number of classes; the others have a field for it.
CLASSES = {"digits": 10, "dvs_gesture": 11, "n_mnist": 10, "shd": 20, "ssc": 35, "yin_yang": 3}
HEIDELBERG_CHANNELS = 700
# Sides of the images in pixels.
N_MNIST_SIDE = 34
DVS_GESTURE_SIDE = 128


def class_count(data: Any) -> int:
    """Returns how many readout neurons the data need: one per class, or per target value."""
    classes = field_of(data, "outputs") or CLASSES.get(data.kind)
    return int(data.classes if classes is None else classes)


def input_channels(data: Any) -> int:
    """Returns how many input channels the data have."""
    channels: int
    if data.kind == "digits":
        channels = 64 * channels_per_value(data.encoding)
    elif data.kind == "npz":
        channels = data.channels * (channels_per_value(data.encoding) if data.encoding else 1)
    elif data.kind == "randman":
        channels = data.units
    elif data.kind == "delayed_recall":
        channels = data.classes * data.units
    elif data.kind == "yin_yang":
        channels = 5 if data.bias else 4
    elif data.kind in ("shd", "ssc"):
        channels = HEIDELBERG_CHANNELS
    elif data.kind == "n_mnist":
        channels = 2 * N_MNIST_SIDE**2  # channel = (polarity * side + y) * side + x
    elif data.kind == "dvs_gesture":
        side = DVS_GESTURE_SIDE // data.pixels_merged
        channels = 2 * side * side  # channel = (polarity * side + y) * side + x
    else:
        channels = data.channels
    return channels


def image_of(data: Any) -> Optional[Tuple[int, int]]:
    """Returns height and width of images with channel = (plane * height + y) * width + x."""
    if data.kind == "n_mnist":
        return N_MNIST_SIDE, N_MNIST_SIDE
    if data.kind == "dvs_gesture":
        side = DVS_GESTURE_SIDE // data.pixels_merged
        return side, side
    if data.kind == "digits" and channels_per_value(data.encoding) == 1:
        return 8, 8
    return None


def channels_per_value(encoding: Any) -> int:
    """Returns how many input channels an encoding makes of one value."""
    channels: int = encoding.fields if encoding.kind == "population" else 1
    return channels


def frequencies(randman: Any) -> int:
    """Returns the number of terms in each of randman's functions, at most 1,000.

    The amplitudes of the terms left out are below a thousandth.
    """
    terms: int = math.ceil(10 ** (3 / randman.smoothness))
    return min(terms, 1000)


def spike_probability(noise: Any) -> float:
    """Returns the probability of a spike of frozen noise in one channel and step."""
    probability: float = noise.rate_hz * noise.step_ms / 1000.0
    return min(1.0, probability)


def spiking_layers(network: Any) -> List[Any]:
    """Returns the layers that spike: the hidden ones, and the readout if it does."""
    return [*network.layers, *([network.readout] if network.readout.kind == "spiking" else [])]


def input_delays(network: Any) -> List[int]:
    """Returns the steps that spikes take to each hidden layer and the readout.

    It is 0 where each connection has its own.
    """
    delays = []
    for index, layer in enumerate([*network.layers, network.readout]):
        own = layer.delay
        if field_of(layer, "delays") is not None:
            own = 0
        delays.append((network.delay if index else 0) if own is None else own)
    return delays


def first_capacity(layer: Any) -> Optional[int]:
    """Returns the capacity that training begins with; None for one slot per neuron."""
    capacity = field_of(layer, "capacity")  # convolutions have none
    grow: Optional[int] = capacity.grow if hasattr(capacity, "grow") else capacity
    return grow


def grows_capacity(layer: Any) -> bool:
    """Returns whether training may raise the layer's capacity."""
    return hasattr(field_of(layer, "capacity"), "grow")


def splits_neurons(device: Any, layers: int) -> bool:
    """Returns whether the neurons of one layer are spread over several IPUs.

    Args:
        device: An emulator or an IPU device.
        layers: How many layers the network has, readout included.
    """
    if device.split is None:
        return bool(device.ipus > layers)
    return bool(device.split == "neurons" and device.ipus > 1)


def bounded_layers(bound: Any, hidden: int) -> List[int]:
    """Returns the layers that a regulariser bounds, from 0; the readout is number `hidden`."""
    numbers = bound.layers or range(1, hidden + 1)
    return [*(number - 1 for number in numbers), *[hidden] * bound.readout]


def is_regression(training: Any) -> bool:
    """Returns whether the loss compares the readout with target values instead of labels."""
    if has_own_loss(training):
        return not names_in(equation_texts(training.loss)).isdisjoint((TARGET, STEP_TARGET))
    return training.loss in REGRESSION_LOSSES


def has_own_loss(training: Any) -> bool:
    """Returns whether the loss is made of equations."""
    return not isinstance(training.loss, str)


def loss_name(training: Any) -> str:
    """Returns the name of the loss, for messages."""
    name: str = training.loss.name if has_own_loss(training) else training.loss
    return name


def reads_spikes(training: Any) -> bool:
    """Returns whether the loss is of the readout's spikes instead of its membrane."""
    if has_own_loss(training):
        return not names_in(equation_texts(training.loss)).isdisjoint((SPIKE_COUNT, FIRST_SPIKE))
    return training.loss in SPIKE_LOSSES


def reads_first_spikes(training: Any) -> bool:
    """Returns whether the loss is of the times of the readout's first spikes."""
    if has_own_loss(training):
        return FIRST_SPIKE in names_in(equation_texts(training.loss))
    return bool(training.loss == "first_spike_cross_entropy")


def has_step_targets(training: Any) -> bool:
    """Returns whether the loss compares the readout with the targets of each step."""
    if has_own_loss(training):
        return STEP_TARGET in names_in(equation_texts(training.loss))
    return bool(training.loss == "step_mse")


def score_name(training: Any) -> str:
    """Returns the metric that is reported with the loss; larger is better for accuracy only."""
    return "mae" if is_regression(training) else "accuracy"


def first_spike_steps(spec: Any) -> float:
    """Returns the time constant of the loss first_spike_cross_entropy, in steps."""
    constant = spec.training.first_spike_ms
    return (10.0 if constant is None else float(constant)) / float(spec.data.step_ms)


def spike_targets(training: Any) -> Tuple[float, float]:
    """Returns the target spike counts of the right readout neuron and of every other."""
    targets = training.spike_targets
    return (10.0, 1.0) if targets is None else (targets.right, targets.wrong)
