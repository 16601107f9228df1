"""The trained network as a NIR graph, in the dialect of its reader.

NIR's neurons are differential equations, tau dv/dt = (v_leak - v) + r I (Pedersen et al., 2024,
doi:10.1038/s41467-024-52259-9). Solved over one step of dt with constant input they give our update
exactly, with

    decay = exp(-dt / tau)      r = 1      v_leak = v_reset = 0

where the gain is multiplied into the weights and the bias. A decay of 1 is a very long tau. In a
CubaLIF, the synapse is updated before the membrane. A spike is a current of 1 during one step.
`network.nir` and the target generic are this graph. A LIF of NIR resets to zero. Any other reset is
an LI and a Threshold behind it; to
subtract, the spike returns to the LI one dt later, times -decay threshold / (1 - decay).

Norse 1.1.0 (norse.torch.from_nir), snnTorch 1.0.0 (snntorch.import_nir) and SpikingJelly 2.0.0
(spikingjelly.activation_based.nir_exchange) take Euler's step, so that decay = 1 - dt / tau.
snnTorch's step is fixed at 0.1 ms. snnTorch and SpikingJelly add the input without a factor, for
which r = tau / dt and w_in = tau_syn / dt stand, and have one threshold per layer: the weights take
the factors and thresholds. None of them runs NIR's LI. A leaky readout is there a LIF whose
threshold is never reached: its membrane is the readout. Sinabs 3.1.3 (sinabs.nir) counts time in
steps, solves exactly, adds the input without a factor, and subtracts the threshold after a spike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, Mapping, Optional

import numpy as np

from ipulse_core.spec.conv_layers import dense_layers
from ipulse_core.spec.derived_values import class_count, input_channels, input_delays
from ipulse_core.spec.nir_targets import (
    EULER_DECAY,
    ONE_THRESHOLD,
    SMALLEST_THRESHOLD,
    UNSCALED_INPUT,
)
from ipulse_ops.training.weight_types import rounded
from ipulse_worker.runner.results.nir_file import GraphChain

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

Arrays = Mapping[str, np.ndarray]

_EXACT_STEP = "decay = exp(-dt / tau); v = decay * v + (1 - decay) * r * I"
DISCRETIZATIONS = {
    "generic": _EXACT_STEP,
    "norse": f"{EULER_DECAY}; v = decay * v + (1 - decay) * r * I",
    "snntorch": f"{EULER_DECAY}; v = decay * v + (dt / tau) * r * I",
    "spikingjelly": f"{EULER_DECAY}; v = decay * v + (dt / tau) * r * I",
    "sinabs": f"decay = exp(-1 / tau), tau in steps; {UNSCALED_INPUT}",
}
SNNTORCH_STEP_S = 1e-4
# A threshold that no membrane reaches. It is finite because a reset by subtraction multiplies it
# by 0 where there is no spike.
NEVER = 1e30
# Represents a decay of 1, for which tau would be infinite. It is 1 in float32, and its input has an
# exact factor.
ALMOST_1 = 1 - 2.0**-30
# exp(-NO_MEMORY) is 0 in double precision. It represents a decay of 0, for which tau would be 0.
NO_MEMORY = 1000.0


@dataclass(frozen=True)
class _Constants:
    """The constants of one layer, float64 `[neurons]`."""

    decay: np.ndarray
    synapse: Optional[np.ndarray]
    threshold: Optional[np.ndarray]  # None in a leaky readout
    gain: np.ndarray


class NetworkGraph:
    """Builds the graph of a network for one target."""

    def __init__(self, spec: ExperimentSpec, arrays: Arrays, target: str = "generic") -> None:
        """Prepare.

        Args:
            spec: of the training.
            arrays: the trained arrays, as Model.arrays: weights float32 `[N_in, N_out]` of each
                layer and the readout, which NIR stores transposed; recurrent weights, biases and
                trained constants.
            target: one of ipulse_core.spec.nir_targets.SIMULATORS.
        """
        self._spec, self._arrays, self._target = spec, arrays, target
        self._is_exact = target in ("generic", "sinabs")
        # These simulators do not multiply the input by 1 - decay.
        self._adds_input = target in ("snntorch", "spikingjelly", "sinabs")
        self.step_s = spec.data.step_ms / 1000.0
        if target == "snntorch":
            self.step_s = SNNTORCH_STEP_S
        elif target == "sinabs":
            self.step_s = 1.0  # a step

    def build(self) -> Any:
        """Return the NIR graph."""
        import nir

        spec = self._spec
        graph = GraphChain(input_channels(spec.data), class_count(spec.data))
        delays = input_delays(spec.network) if self._target == "generic" else []

        def append_delay(number: int, neurons: int) -> None:
            if delays and delays[number]:
                delay = np.full(neurons, delays[number] * self.step_s)
                graph.append(f"delay_{number}", nir.Delay(delay=delay))

        append_delay(0, input_channels(spec.data))
        senders: List[str] = []  # the node of each layer that other layers receive
        for number, layer in enumerate(dense_layers(spec.network), start=1):
            self._append(graph, layer, layer.neurons, f"layer_{number}", f"{number}", senders)
            append_delay(number, layer.neurons)
            senders.append(graph.last)
        self._append(
            graph, spec.network.readout, class_count(spec.data), "readout", "readout", senders
        )
        return graph.finished()

    def _append(
        self,
        graph: GraphChain,
        layer: Any,
        neurons: int,
        name: str,
        suffix: str,
        senders: List[str],
    ) -> None:
        def values(field: str) -> np.ndarray:
            value = self._arrays.get(f"{name}_{field}", getattr(layer, field))
            return np.array(np.broadcast_to(np.asarray(value, np.float64), (neurons,)))

        decay, gain = values("decay"), np.full(neurons, layer.gain)
        constants = _Constants(
            decay=np.where(decay == 1, ALMOST_1, decay),
            synapse=None if layer.synapse_decay is None else values("synapse_decay"),
            threshold=values("threshold") if hasattr(layer, "threshold") else None,
            gain=np.where(decay == 1, gain / (1 - ALMOST_1), gain),
        )
        here = "readout" if name == "readout" else f"lif_{suffix}"
        graph.append(f"weights_{suffix}", self._weights(name, constants))
        for number in getattr(layer, "residual", ()) if self._target == "generic" else ():
            graph.connect(senders[number - 1], f"weights_{suffix}")
        entry = self._append_neurons(graph, constants, here, suffix)
        if getattr(layer, "recurrent", False) and self._target not in ("snntorch", "sinabs"):
            weights = self._weights(f"{name}_recurrent", constants)
            graph.loop(f"recurrent_{suffix}", weights, entry)

    def _append_neurons(
        self, graph: GraphChain, constants: _Constants, here: str, suffix: str
    ) -> str:
        """Append the neurons of a layer; return the name of the node that takes their input."""
        import nir

        threshold = constants.threshold
        resets = threshold is not None and self._spec.network.reset != "zero"
        splits = self._target == "generic" and (threshold is None or resets)
        if not splits and self._target != "sinabs":
            graph.append(here, self._neurons(constants))
            return here
        synapse, membrane = f"synapse_{suffix}", f"membrane_{suffix}" if resets else here
        if constants.synapse is not None:
            # NIR 1.0 has no leaky integrator with a synapse: the synapse is a separate node.
            graph.append(synapse, self._integrator(constants.synapse))
        if threshold is not None and not splits:
            graph.append(here, self._neurons(constants))
            return here
        graph.append(membrane, self._integrator(constants.decay))
        if threshold is not None:
            graph.append(here, nir.Threshold(threshold=threshold))
            if self._spec.network.reset == "subtract":
                returned = -constants.decay * threshold / (1 - constants.decay)
                graph.loop(f"reset_{suffix}", nir.Scale(scale=returned), membrane)
        return membrane if constants.synapse is None else synapse

    def _weights(self, name: str, constants: _Constants) -> Any:
        """Return the node of a matrix and its bias, times all factors of the neurons behind."""
        import nir

        factor = constants.gain.astype(np.float64)
        if self._adds_input:
            factor *= 1 - constants.decay
            if constants.synapse is not None:
                factor *= 1 - constants.synapse
        if self._target in ONE_THRESHOLD and constants.threshold is not None:
            factor /= np.maximum(constants.threshold, SMALLEST_THRESHOLD)
        narrow = np.asarray(rounded(self._arrays[name], weights_dtype(self._spec)))
        matrix = _float32(narrow.T.astype(np.float64) * factor[:, np.newaxis])
        bias = self._arrays.get(f"{name}_bias")
        if bias is not None:
            return nir.Affine(weight=matrix, bias=_float32(bias.astype(np.float64) * factor))
        if self._target == "sinabs":  # it reads no Linear
            return nir.Affine(weight=matrix, bias=np.zeros(len(matrix), np.float32))
        return nir.Linear(weight=matrix)

    def _neurons(self, constants: _Constants) -> Any:
        """Return a LIF or CubaLIF."""
        import nir

        tau, ones = self._tau(constants.decay), np.ones(len(constants.decay))
        threshold, synapse = constants.threshold, constants.synapse
        subtracts = threshold is not None and self._spec.network.reset == "subtract"
        if self._target == "norse" and subtracts and synapse is None:
            synapse = 0 * ones  # Norse takes reset_method for CubaLIFs only
        if self._target == "spikingjelly" and synapse is None and not constants.decay.all():
            synapse = 0 * ones  # only its CubaLIF takes a decay of 0
        if threshold is None:
            threshold = NEVER * ones
        elif self._target in ONE_THRESHOLD:
            threshold = ones
        scales = self._adds_input and self._target != "sinabs"
        r = tau / self.step_s if scales else ones
        common = {"v_leak": 0 * ones, "v_threshold": threshold, "r": r}
        if synapse is None or self._target == "sinabs":
            return nir.LIF(tau=tau, **common)
        tau_syn = self._tau(synapse)
        w_in = tau_syn / self.step_s if scales else ones
        return nir.CubaLIF(tau_mem=tau, tau_syn=tau_syn, w_in=w_in, **common)

    def _integrator(self, decay: np.ndarray) -> Any:
        import nir

        zeros = np.zeros(len(decay))
        return nir.LI(tau=self._tau(decay), r=1 + zeros, v_leak=zeros)

    def _tau(self, decay: np.ndarray) -> np.ndarray:
        if self._is_exact:
            return tau_s(decay, self.step_s)
        tau: np.ndarray = self.step_s / (1 - decay)
        return tau


def has_one_value(target: str) -> bool:
    """Return whether the target reads one value for all neurons of a layer."""
    return target == "sinabs"


def tau_s(decay: Any, step_s: float) -> np.ndarray:
    """Convert the decay per step of `step_s` seconds to time constants in seconds."""
    decay = np.asarray(decay, dtype=np.float64)
    with np.errstate(divide="ignore"):
        tau: np.ndarray = np.where(decay > 0, -step_s / np.log(decay), step_s / NO_MEMORY)
    return tau


def weights_dtype(spec: ExperimentSpec) -> str:
    """Return the type to which runs round the weights that they read."""
    return spec.device.weights_dtype if spec.device.kind == "cpu" else "float32"


def _float32(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values.astype(np.float32))
