"""The constants of LIF neurons as plain data, one row each.

From here come the fields of specs and their bounds, the checks of `ipulse_ops`, the inputs and
gradients of its ops, the structs of the kernels' C interface and which constants can be trained.
The equations that read them are written for each back end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

ALL, SPIKING = "all", "spiking"  # kinds of layers: every one, or those that spike


@dataclass(frozen=True)
class Bounds:
    """The range of a number; None for no bound.

    least, most: it may be equal to them. above, below: it may not.
    """

    least: Optional[float] = None
    most: Optional[float] = None
    above: Optional[float] = None
    below: Optional[float] = None

    def hold(self, value: Any) -> Any:
        """Returns whether a number, or each element of an array, is in the range."""
        found = value == value  # not NaN
        if self.least is not None:
            found = found & (value >= self.least)
        if self.most is not None:
            found = found & (value <= self.most)
        if self.above is not None:
            found = found & (value > self.above)
        if self.below is not None:
            found = found & (value < self.below)
        return found

    def __str__(self) -> str:
        """Return the range for a message, such as "at least 0 and less than 1"."""
        words = (
            *(("at least", self.least), ("above", self.above)),
            *(("at most", self.most), ("less than", self.below)),
        )
        return " and ".join(f"{word} {value:g}" for word, value in words if value is not None)


@dataclass(frozen=True)
class Constant:
    """A constant of the neurons of a layer.

    name: in `ipulse_ops`, in arrays and in the list of trained constants.
    sentence: what it is.
    default: of a layer that does not say; None for a constant that layers need not have.
    bounds: what the equations allow.
    in_specs: the bounds in specs.
    of: the layers that have it: ALL or SPIKING.
    is_trained: whether it can be trained.
    field: path of its field in a layer of a spec.
    kernel: the array of the kernels that it becomes, if that has another name.
    """

    name: str
    sentence: str
    default: Optional[float]
    bounds: Bounds
    in_specs: Bounds
    of: str = ALL
    is_trained: bool = False
    field: str = ""
    kernel: str = ""

    @property
    def is_optional(self) -> bool:
        """True if layers may do without it."""
        return self.default is None

    @property
    def path(self) -> Tuple[str, ...]:
        """The fields of a spec's layer that lead to it."""
        return tuple((self.field or self.name).split("."))

    @property
    def array(self) -> str:
        """The name of its array in the kernels."""
        return self.kernel or self.name

    @property
    def has_gradient(self) -> bool:
        """True if the kernels compute a gradient by its array."""
        return self.is_trained or bool(self.kernel)


_FRACTION = Bounds(least=0.0, below=1.0)
_ANY = Bounds()
_LARGE = Bounds(least=-1e6, most=1e6)

# In the order of the trained constants in files and of variables.
ROWS: Tuple[Constant, ...] = (
    Constant(
        name="decay",
        sentence="Fraction of the membrane kept from step to step, exp(-step / tau_mem). With 1 "
        "the neuron integrates and fires: its membrane keeps everything.",
        default=0.95,
        bounds=Bounds(least=0.0, most=1.0),
        in_specs=Bounds(least=0.0, most=1.0),
        is_trained=True,
    ),
    Constant(
        name="gain",
        sentence="Scales the input current by gain * (1 - decay), and by gain where decay is 1.",
        default=10.0,
        bounds=_ANY,
        in_specs=Bounds(above=0.0, most=1e4),
        kernel="scale",
    ),
    Constant(
        name="threshold",
        sentence="A neuron spikes where its membrane is above this value.",
        default=1.0,
        bounds=_ANY,
        in_specs=Bounds(above=0.0, most=1e6),
        of=SPIKING,
        is_trained=True,
    ),
    Constant(
        name="second_threshold",
        sentence="Gradient flows only through neurons with a membrane above this value; null: "
        "through all.",
        default=None,
        bounds=_ANY,
        in_specs=_LARGE,
        of=SPIKING,
    ),
    Constant(
        name="synapse_decay",
        sentence="Fraction of the synaptic current kept from step to step: a second state between "
        "input and membrane, as in NIR's CubaLIF; null: none.",
        default=None,
        bounds=_FRACTION,
        in_specs=_FRACTION,
        is_trained=True,
    ),
    Constant(
        name="adaptation_decay",
        sentence="Fraction of the rise kept from step to step, exp(-step / tau_adaptation).",
        default=None,
        bounds=_FRACTION,
        in_specs=_FRACTION,
        of=SPIKING,
        is_trained=True,
        field="adaptation.decay",
    ),
    Constant(
        name="adaptation_strength",
        sentence="Rise of the neuron's thresholds with each of its spikes.",
        default=None,
        bounds=Bounds(least=0.0),
        in_specs=Bounds(least=0.0, most=1e6),
        of=SPIKING,
        is_trained=True,
        field="adaptation.strength",
    ),
)
BY_NAME: Dict[str, Constant] = {row.name: row for row in ROWS}
# The names of the constants that can be trained.
TRAINED: Tuple[str, ...] = tuple(row.name for row in ROWS if row.is_trained)
# In the order of the kernels: those of every layer, then those of layers that spike.
IN_KERNELS: Tuple[Constant, ...] = tuple(sorted(ROWS, key=lambda row: (ALL, SPIKING).index(row.of)))
# Those that need kernels for every kind of neuron: neither plain LIF neurons nor their gate.
GENERAL: Tuple[Constant, ...] = tuple(
    row for row in IN_KERNELS if row.is_optional and row.is_trained
)


def constants_of(spikes: bool) -> Tuple[Constant, ...]:
    """Returns the constants of layers that spike, or of leaky readouts."""
    return tuple(row for row in ROWS if spikes or row.of == ALL)
