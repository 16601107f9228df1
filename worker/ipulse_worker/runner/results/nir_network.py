"""The trained network as a NIR graph, in the dialect of its reader.

NIR's neurons are differential equations, tau dv/dt = (v_leak - v) + r I (Pedersen et al., 2024,
doi:10.1038/s41467-024-52259-9). Solved over one step of dt with constant input they give our update
exactly, with

    decay = exp(-dt / tau)      r = 1      v_leak = v_reset = 0

where the gain is multiplied into the weights and the bias. A decay of 1 is a very long tau. In a
CubaLIF, the synapse is updated before the membrane. A spike is a current of 1 during one step.
`network.nir` and the target generic are this graph. A LIF of NIR resets to zero. Any other reset is
an LI and a Threshold behind it; to subtract, the spike returns to the LI one dt later, times
-decay threshold / (1 - decay). The other targets are in nir_dialects.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Tuple

import numpy as np

from ipulse_core.spec.conv_geometry import Planes
from ipulse_core.spec.conv_layers import conv_geometries, hidden_sizes, input_scale, planes_of
from ipulse_core.spec.derived_values import class_count, input_channels
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.nir_targets import ONE_THRESHOLD, SMALLEST_THRESHOLD
from ipulse_ops.lif.weight_types import rounded
from ipulse_worker.runner.results.nir_delays import DelayNodes
from ipulse_worker.runner.results.nir_dialects import (
    ALMOST_1,
    FORGETTING,
    NEVER,
    SNNTORCH_STEP_S,
    tau_s,
    weights_dtype,
)
from ipulse_worker.runner.results.nir_file import GraphChain
from ipulse_worker.runner.results.nir_layer import LayerPlace, NeuronConstants
from ipulse_worker.runner.results.nir_planes import (
    by_planes,
    convolution,
    flatten,
    matrix_on_planes,
    shape_of,
    sum_pool,
)

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

Arrays = Mapping[str, np.ndarray]


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
        self._is_exact = target in ("generic", "sinabs", "rockpool")
        # These simulators do not multiply the input by 1 - decay.
        self._adds_input = target in ("snntorch", "spikingjelly", "sinabs", "rockpool")
        self.step_s = spec.data.step_ms / 1000.0
        if target == "snntorch":
            self.step_s = SNNTORCH_STEP_S
        elif target == "sinabs":
            self.step_s = 1.0  # a step

    def build(self) -> Any:
        """Return the NIR graph."""
        spec = self._spec
        convolutions = conv_geometries(spec)
        classes, enters = class_count(spec.data), None if not convolutions else planes_of(spec.data)
        # Only the generic graph flattens planes.
        self._stays_planes = bool(convolutions) and self._target != "generic"
        inputs = (input_channels(spec.data),) if enters is None else shape_of(enters)
        graph = GraphChain(inputs, self._shape(classes))
        self._delays = DelayNodes(spec, self._arrays, self._target, self.step_s)
        self._delays.append(graph, 0, inputs)
        scale = 1.0
        senders: List[str] = []  # the node of each layer that other layers receive
        sizes = hidden_sizes(spec)
        for number, layer in enumerate(spec.network.layers, start=1):
            geometry = convolutions[number - 1] if number <= len(convolutions) else None
            shape = self._shape(sizes[number - 1]) if geometry is None else geometry.neuron_shape
            place = LayerPlace(f"layer_{number}", f"{number}", shape, enters, geometry, scale)
            self._append(graph, layer, place, senders)
            scale = input_scale(layer)
            enters = self._planes(sizes[number - 1]) if geometry is None else geometry.pooled
            self._delays.append(graph, number, shape if enters is None else shape_of(enters))
            senders.append(graph.last)
        place = LayerPlace("readout", "readout", self._shape(classes), enters, None, scale)
        self._append(graph, spec.network.readout, place, senders)
        return graph.finished()

    def _shape(self, neurons: int) -> Tuple[int, ...]:
        """Return the shape of fully connected neurons."""
        return (neurons, 1, 1) if self._stays_planes else (neurons,)

    def _planes(self, neurons: int) -> Optional[Planes]:
        """Return the planes of fully connected neurons, None if they are a vector."""
        return Planes(1, 1, neurons) if self._stays_planes else None

    def _append(self, graph: GraphChain, layer: Any, place: LayerPlace, senders: List[str]) -> None:
        def values(field: str) -> np.ndarray:
            value = np.asarray(
                self._arrays.get(f"{place.name}_{field}", getattr(layer, field)), np.float64
            )
            value = value.reshape(value.shape + (1,) * (value.ndim and len(place.shape) - 1))
            return np.array(np.broadcast_to(value, place.shape))

        decay, gain = values("decay"), np.full(place.shape, layer.gain)
        has_synapse = field_of(layer, "synapse_decay") is not None
        constants = NeuronConstants(
            decay=np.where(decay == 1, ALMOST_1, decay),
            synapse=values("synapse_decay") if has_synapse else None,
            threshold=values("threshold") if hasattr(layer, "threshold") else None,
            gain=np.where(decay == 1, gain / (1 - ALMOST_1), gain),
        )
        suffix = place.suffix
        here = "readout" if place.name == "readout" else f"lif_{suffix}"
        if place.is_flattened(self._stays_planes):
            assert place.enters is not None  # noqa: S101 - flattened
            graph.append(f"flatten_{suffix}", flatten(place.enters))
        source, weights = graph.last, self._weights(place, constants)
        first, *others = self._delays.ways(len(senders), suffix, weights)
        graph.extend(first)
        for number in field_of(layer, "residual") if self._target == "generic" else ():
            graph.connect(senders[number - 1], f"weights_{suffix}")
        entry = self._append_neurons(graph, constants, here, suffix)
        for way in others:
            graph.join(source, way, entry)
        if field_of(layer, "recurrent") and self._target not in ("snntorch", "sinabs", "rockpool"):
            size, own = self._planes(place.shape[0]), place.geometry
            own = None if own is None else own.recurrent
            loop = LayerPlace(f"{place.name}_recurrent", suffix, place.shape, size, own)
            graph.loop(f"recurrent_{suffix}", self._weights(loop, constants), entry)
        if place.geometry is not None and place.geometry.pool != (1, 1):
            graph.append(f"pool_{suffix}", sum_pool(place.geometry))

    def _append_neurons(
        self, graph: GraphChain, constants: NeuronConstants, here: str, suffix: str
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

    def _weights(self, place: LayerPlace, constants: NeuronConstants) -> Any:
        """Return the node of weights and their bias, times all factors of the neurons behind."""
        import nir

        factor = constants.gain.astype(np.float64)
        if self._adds_input:
            factor *= 1 - constants.decay
            if constants.synapse is not None:
                factor *= 1 - constants.synapse
        if self._target == "rockpool":
            factor /= self._rockpool_synapse(constants)
        if self._target in ONE_THRESHOLD and constants.threshold is not None:
            factor /= np.maximum(constants.threshold, SMALLEST_THRESHOLD)
        factor = constants.by_output(factor)
        narrow = np.asarray(rounded(self._arrays[place.name], weights_dtype(self._spec)))
        weights = narrow.astype(np.float64) * (factor * place.scale)
        bias = self._arrays.get(f"{place.name}_bias")
        if bias is not None:
            bias = _float32(bias.astype(np.float64) * factor)
        if place.geometry is not None:
            has_groups = self._target == "generic"
            return convolution(place.geometry, weights, bias, has_groups=has_groups)
        matrix = weights.T
        if place.enters is not None:
            if self._stays_planes:
                return matrix_on_planes(matrix, bias, place.enters)
            matrix = by_planes(matrix, place.enters).reshape(matrix.shape)
        matrix = _float32(matrix)
        if bias is not None:
            return nir.Affine(weight=matrix, bias=bias)
        if self._target == "sinabs":  # it reads no Linear
            return nir.Affine(weight=matrix, bias=np.zeros(len(matrix), np.float32))
        return nir.Linear(weight=matrix)

    def _neurons(self, constants: NeuronConstants) -> Any:
        """Return a LIF or CubaLIF."""
        import nir

        tau, ones = self._tau(constants.decay), np.ones(constants.decay.shape)
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
        scales = self._adds_input and self._target not in ("sinabs", "rockpool")
        r = tau / self.step_s if scales else ones
        if self._target == "rockpool":
            synapse, r = self._rockpool_synapse(constants), tau / self.step_s - 1
            return nir.CubaLIF(
                tau_mem=tau,
                tau_syn=self._tau(synapse),
                w_in=ones,
                r=r,
                v_leak=0 * ones,
                v_threshold=threshold,
            )
        common = {"v_leak": 0 * ones, "v_threshold": threshold, "r": r}
        if synapse is None or self._target == "sinabs":
            return nir.LIF(tau=tau, **common)
        tau_syn = self._tau(synapse)
        w_in = tau_syn / self.step_s if scales else ones
        return nir.CubaLIF(tau_mem=tau, tau_syn=tau_syn, w_in=w_in, **common)

    def _rockpool_synapse(self, constants: NeuronConstants) -> np.ndarray:
        """Return the decays of synapses, which multiply the input of the step as well."""
        if constants.synapse is None:
            return np.full(constants.decay.shape, FORGETTING)
        decays: np.ndarray = np.maximum(constants.synapse, FORGETTING)
        return decays

    def _integrator(self, decay: np.ndarray) -> Any:
        import nir

        zeros = np.zeros(decay.shape)
        return nir.LI(tau=self._tau(decay), r=1 + zeros, v_leak=zeros)

    def _tau(self, decay: np.ndarray) -> np.ndarray:
        if self._is_exact:
            return tau_s(decay, self.step_s)
        tau: np.ndarray = self.step_s / (1 - decay)
        return tau


def _float32(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values.astype(np.float32))
