"""The experiment spec: the only schema there is.

A spec is data and never code. The service validates it, the command line validates it before
sending, the runner reads it on Python 3.8, and docs/spec.md is generated from it.
Shapes are written `[time, batch, neurons]`; the mathematics is in ops/lif/reference.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterator, Literal, Optional, Tuple

from . import schema
from .errors import InvalidSpec, Problem
from .schema import described

MAX_SYNAPSES = 2**27  # weights of the whole network: 512 MiB in float32
MAX_STATE = 2**31  # membrane values that one training step may touch: time * batch * neurons


@dataclass(frozen=True)
class DigitsData:
    """The 1,797 scanned 8x8 digits that ship inside scikit-learn, one spike per bright pixel.

    A pixel of brightness x in [0, 1] spikes at t = tau_eff ln(x / (x - threshold)), and not at
    all where x <= threshold: the charging time of a leaky integrator under constant current.
    """

    inputs = 64  # pixels
    classes = 10

    kind: Literal["digits"] = described("Which data set.", default="digits")
    steps: int = described(
        "Time steps of one sample; later spikes are dropped.", default=40, ge=1, le=10_000
    )
    step_ms: float = described("Width of one time step.", default=1.0, gt=0.0, le=1000.0, unit="ms")
    tau_eff_ms: float = described(
        "Time constant of the latency code.", default=20.0, gt=0.0, le=1e6, unit="ms"
    )
    threshold: float = described(
        "Brightness below which a pixel stays silent.", default=0.2, gt=0.0, lt=1.0
    )
    test_fraction: float = described(
        "Share of the samples held out for the test accuracy.", default=0.2, ge=0.05, le=0.5
    )
    split_seed: int = described(
        "Decides which samples are held out, whatever the experiment's seed.",
        default=0,
        ge=0,
        le=2**31 - 1,
    )
    samples: Optional[int] = described(
        "Use only this many samples, drawn by split_seed; null uses all 1,797.",
        default=None,
        ge=50,
        le=1797,
    )


@dataclass(frozen=True)
class LIFLayer:
    """One layer of leaky integrate-and-fire neurons, all with the same constants."""

    neurons: int = described("Neurons in the layer.", ge=1, le=65_535)
    decay: float = described(
        "Share of the membrane kept from step to step, exp(-step / tau_mem).",
        default=0.95,
        ge=0.0,
        lt=1.0,
    )
    threshold: float = described(
        "A neuron spikes where its membrane is above this.", default=1.0, gt=0.0, le=1e6
    )
    second_threshold: Optional[float] = described(
        "Gradient flows only through neurons whose membrane is above this; null: through all.",
        default=None,
        ge=-1e6,
        le=1e6,
    )
    capacity: Optional[int] = described(
        "Slots per sample and step for spiking and gradient-carrying neurons, in index order, "
        "spikes first; what does not fit is dropped and counted. Null: one slot per neuron.",
        default=None,
        ge=1,
        le=65_535,
    )
    gain: float = described(
        "Scales the input current by gain * (1 - decay).", default=10.0, gt=0.0, le=1e4
    )

    def problems(self) -> Iterator[Problem]:
        if self.second_threshold is not None and self.second_threshold > self.threshold:
            yield Problem(
                "/second_threshold", "inconsistent", "must not be above the layer's threshold"
            )
        if self.capacity is not None and self.capacity > self.neurons:
            yield Problem(
                "/capacity", "inconsistent", f"must not be above neurons ({self.neurons})"
            )


@dataclass(frozen=True)
class LeakyReadout:
    """Leaky integrators without spikes, one per class; their mean over time is the logit."""

    decay: float = described(
        "Share of the membrane kept from step to step.", default=0.95, ge=0.0, lt=1.0
    )
    gain: float = described(
        "Scales the input current by gain * (1 - decay).", default=10.0, gt=0.0, le=1e4
    )


@dataclass(frozen=True)
class Surrogate:
    """What stands in for the derivative of the spike in the backward pass."""

    name: Literal["superspike"] = described(
        "superspike: 1 / (slope * |membrane - threshold| + 1)^2.", default="superspike"
    )
    slope: float = described("Steepness of the surrogate.", default=10.0, gt=0.0, le=1e4)


@dataclass(frozen=True)
class Network:
    """Feed-forward layers of LIF neurons and a readout."""

    layers: Tuple[LIFLayer, ...] = described(
        "The hidden layers, input side first.", min_items=1, max_items=16
    )
    readout: LeakyReadout = described("The output layer.", factory=LeakyReadout)
    surrogate: Surrogate = described("The surrogate gradient.", factory=Surrogate)
    reset: Literal["zero"] = described(
        "What a spike does to the membrane: zero sets it to 0 before the next step.",
        default="zero",
    )
    reset_gradient: Literal["mask", "term"] = described(
        "mask: the spike in the reset is a constant, the membrane is not; "
        "term: the whole reset is a constant.",
        default="mask",
    )
    delay: Literal[0, 1] = described("Steps that a spike takes from layer to layer.", default=0)
    initial_membrane_std: float = described(
        "Weights start so that each layer's membrane would have this standard deviation, "
        "in units of its threshold, at the measured input rate.",
        default=1.0,
        gt=0.0,
        le=100.0,
    )


@dataclass(frozen=True)
class Adam:
    """Adam with bias correction."""

    kind: Literal["adam"] = described("Which optimizer.", default="adam")
    learning_rate: float = described("Step size.", default=2e-3, gt=0.0, le=10.0)
    beta_1: float = described("Decay of the mean of gradients.", default=0.9, ge=0.0, lt=1.0)
    beta_2: float = described("Decay of the mean of squares.", default=0.999, ge=0.0, lt=1.0)
    epsilon: float = described(
        "Added to the root of the mean of squares.", default=1e-7, gt=0.0, le=1.0
    )


@dataclass(frozen=True)
class RateSchedule:
    """How the learning rate goes from step to step."""

    shape: Literal["constant", "cosine"] = described(
        "constant, or cosine: falls along half a cosine until the last step.", default="constant"
    )
    warmup_steps: int = described(
        "The rate rises in proportion over this many steps first.", default=0, ge=0, le=10_000_000
    )
    final_share: float = described(
        "Share of the optimizer's rate that a cosine ends at.", default=0.02, ge=0.0, le=1.0
    )


@dataclass(frozen=True)
class Training:
    """How the network is trained."""

    epochs: int = described("Passes over the training samples.", default=30, ge=1, le=100_000)
    batch_size: int = described("Samples per step.", default=64, ge=1, le=65_536)
    optimizer: Adam = described("The optimizer.", factory=Adam)
    schedule: RateSchedule = described("The schedule of its rate.", factory=RateSchedule)
    loss: Literal["mean_membrane_cross_entropy"] = described(
        "Cross-entropy of the readout membrane's mean over time.",
        default="mean_membrane_cross_entropy",
    )
    checkpoint_epochs: int = described(
        "Write a checkpoint after every this many epochs.", default=1, ge=1, le=100_000
    )


@dataclass(frozen=True)
class CPUDevice:
    """The C++ LIF kernels inside stock TensorFlow."""

    kind: Literal["cpu"] = described("Which kind of device.", default="cpu")
    threads: int = described(
        "Threads the kernels use; 0 uses every core the worker may use.", default=0, ge=0, le=1024
    )


@dataclass(frozen=True)
class ExperimentSpec:
    """One experiment: data, network, training and device, with a seed that fixes all of it."""

    version: Literal[1] = described("Version of this schema.")
    network: Network = described("What learns.")
    name: str = described(
        "A name for people.", default="experiment", max_length=128, pattern=r"\S(.*\S)?"
    )
    seed: int = described(
        "Fixes weights and batch order: the same seed gives the same figures on the same "
        "kind of device.",
        default=0,
        ge=0,
        le=2**31 - 1,
    )
    data: DigitsData = described("What to learn.", factory=DigitsData)
    training: Training = described("How.", factory=Training)
    device: CPUDevice = described("On what.", factory=CPUDevice)
    metadata: Dict[str, str] = described(
        "Up to 16 pairs of your own, kept with the job.", factory=dict, max_items=16
    )

    def problems(self) -> Iterator[Problem]:
        sizes = [self.data.inputs, *(layer.neurons for layer in self.network.layers)]
        sizes.append(self.data.classes)
        synapses = sum(before * after for before, after in zip(sizes, sizes[1:]))
        if synapses > MAX_SYNAPSES:
            detail = f"{synapses:,} weights in all; at most {MAX_SYNAPSES:,} are allowed"
            yield Problem("/network/layers", "too_large", detail)
        state = self.data.steps * self.training.batch_size * sum(sizes[1:])
        if state > MAX_STATE:
            detail = (
                f"steps * batch_size * neurons is {state:,}; at most {MAX_STATE:,} are allowed: "
                "use a smaller batch"
            )
            yield Problem("/training/batch_size", "too_large", detail)


def parse_spec(value: Any) -> ExperimentSpec:
    """The spec in parsed JSON or YAML.

    Raises InvalidSpec with every problem and the JSON pointer of each.
    """
    return schema.parse(ExperimentSpec, value, InvalidSpec)


def spec_to_json(spec: ExperimentSpec) -> Dict[str, Any]:
    """The spec as JSON with every default written out: what is stored and hashed."""
    value: Dict[str, Any] = schema.to_json(spec)
    return value
