"""The constants of NIR's neurons, solved over one time step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable, FrozenSet, Optional

import numpy as np

from ipulse_core.nir.errors import at_node
from ipulse_core.nir.hdf5_file import NirNode
from ipulse_core.nir.node_fields import numbers

NEURONS = ("LIF", "CubaLIF", "IF", "LI", "CubaLI", "I", "Threshold")
ALMOST_1 = 1 - 2.0**-28  # decays above it are 1
NEVER = 1e29  # thresholds from here on belong to neurons that only integrate


@dataclass(frozen=True)
class Solver:
    """How a simulator turns time constants into decays.

    exact: decay = exp(-step / tau). euler: decay = 1 - step / tau. adds: types of neurons whose
    input is added without the factor 1 - decay or the time step; "synapse": that of a CubaLIF.
    """

    name: str
    step_s: float
    adds: FrozenSet[str] = frozenset()

    def decay(self, node: NirNode, field: str, neurons: int) -> np.ndarray:
        """Return the decays of a field with time constants, float64 `[neurons]`."""
        stored = constants(node, field, neurons)
        tau = stored.astype(np.float64)
        if not (tau > 0).all():
            raise at_node(node.name, f"{field} must be above 0; got {tau.min():g}")
        if self.name == "euler":
            decay = 1 - self.step_s / tau
            if (decay < -1e-9).any():
                raise at_node(
                    node.name, f"{field} {tau.min():g} s is below the step of {self.step_s:g} s"
                )
            decay = np.maximum(decay, 0.0)
        else:
            decay = np.exp(-self.step_s / tau)
        if (decay >= 1).any():
            raise at_node(node.name, f"{field} {tau.max():g} s is too long: use an IF or I")
        return _short(decay, lambda value: self._tau(value).astype(stored.dtype) == stored)

    def _tau(self, decay: np.ndarray) -> np.ndarray:
        if self.name == "euler":
            euler: np.ndarray = self.step_s / (1 - decay)
            return euler
        with np.errstate(divide="ignore"):
            exact: np.ndarray = np.where(decay > 0, -self.step_s / np.log(decay), 0.0)
        return exact

    def factor(self, decay: np.ndarray, kind: str) -> np.ndarray:
        """Return the factor of a simulator's input, relative to 1 - decay; kind: as in `adds`."""
        if kind not in self.adds:
            return np.ones(len(decay))
        factor: np.ndarray = 1 / np.maximum(1 - decay, 2.0**-53)
        return factor


@dataclass(frozen=True)
class Neurons:
    """The constants of a layer's neurons, float64 `[neurons]`; see ipulse_ops.lif.network."""

    decay: np.ndarray
    gain: np.ndarray  # times 1 - decay, and 1 - synapse_decay, of the input
    synapse_decay: Optional[np.ndarray] = None
    threshold: Optional[np.ndarray] = None  # None for neurons that only integrate
    current: Optional[np.ndarray] = None  # that v_leak adds to the input, before the gain


def neurons_of(node: NirNode, solver: Solver, neurons: int) -> Neurons:
    """Return the constants of one node.

    Raises:
        NirInvalid: a field is missing or has another shape, or IPUlse cannot express it.
    """
    threshold: Optional[np.ndarray] = None
    if node.type == "Threshold":
        threshold = constants(node, "threshold", neurons).astype(np.float64)
        zeros = np.zeros(neurons)
        return Neurons(decay=zeros, gain=zeros + 1, threshold=threshold)
    if node.type in ("IF", "I"):
        return _integrating(node, solver, neurons)
    is_cuba = node.type.startswith("Cuba")
    decay = solver.decay(node, "tau_mem" if is_cuba else "tau", neurons)
    gain = constants(node, "r", neurons).astype(np.float64) * solver.factor(decay, node.type)
    synapse: Optional[np.ndarray] = None
    if is_cuba:
        synapse = solver.decay(node, "tau_syn", neurons)
        gain = gain * constants(node, "w_in", neurons, 1.0) * solver.factor(synapse, "synapse")
    leak = constants(node, "v_leak", neurons).astype(np.float64)
    if node.type in ("LIF", "CubaLIF"):
        threshold = constants(node, "v_threshold", neurons).astype(np.float64)
        reset = constants(node, "v_reset", neurons, 0.0).astype(np.float64)
        if (threshold >= NEVER).all():
            threshold = None
        elif (reset == leak).all():
            # The membrane relative to v_leak resets to 0.
            return Neurons(decay, gain, synapse, threshold - leak)
        elif reset.any():
            raise at_node(
                node.name,
                f"v_reset {reset[reset != 0][0]:g} must be 0 or v_leak: IPUlse resets to 0",
            )
    current = None
    if leak.any():
        if synapse is not None or not gain.all():
            raise at_node(node.name, "v_leak must be 0 with a synapse, or where r is 0")
        current = leak * solver.factor(decay, node.type) / gain
    return Neurons(decay, gain, synapse, threshold, current)


def _integrating(node: NirNode, solver: Solver, neurons: int) -> Neurons:
    """Return the constants of neurons that integrate and fire, or only integrate."""
    # r has the unit of a rate where the input is not added as it is.
    step = 1.0 if node.type in solver.adds else solver.step_s
    gain = constants(node, "r", neurons).astype(np.float64) * step
    threshold: Optional[np.ndarray] = None
    if node.type == "IF":
        threshold = constants(node, "v_threshold", neurons).astype(np.float64)
        if constants(node, "v_reset", neurons, 0.0).any():
            raise at_node(node.name, "v_reset must be 0: IPUlse resets to 0")
    return Neurons(np.ones(neurons), gain, None, threshold)


def without_decay(neurons: Neurons) -> Neurons:
    """Return the constants with the decays that are almost 1 replaced by 1."""
    forever = neurons.decay > ALMOST_1
    absolute = neurons.gain * np.where(neurons.decay == 1, 1.0, 1 - neurons.decay)
    return replace(
        neurons,
        decay=np.where(forever, 1.0, neurons.decay),
        gain=np.where(forever, absolute, neurons.gain),
    )


def constants(
    node: NirNode, field: str, neurons: int, default: Optional[float] = None
) -> np.ndarray:
    """Return a field as one value for each neuron, in its own type.

    Raises:
        NirInvalid: it is missing or has another number of values.
    """
    if field not in node.fields and default is not None:
        return np.full(neurons, default)
    value = np.ravel(numbers(node, field))
    if value.size not in (1, neurons):
        raise at_node(node.name, f"{field} has {value.size:,} values for {neurons:,} neurons")
    return np.array(np.broadcast_to(value, (neurons,)))


def _short(values: np.ndarray, is_equal: Callable[[np.ndarray], Any]) -> np.ndarray:
    """Return the shortest decimals that stand for the same time constants."""
    result, open_ = values.copy(), np.ones(len(values), bool)
    for digits in range(1, 16):
        rounded = np.round(values, digits)
        found = open_ & (rounded >= 0) & (rounded < 1)
        found &= np.asarray(is_equal(np.where(found, rounded, values)))
        result[found] = rounded[found]
        open_ &= ~found
        if not open_.any():
            break
    return result
