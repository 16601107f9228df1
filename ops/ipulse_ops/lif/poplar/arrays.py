"""Runs the Poplar op on NumPy arrays with the emulator, for tests and benchmarks."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ipulse_core.ipu import API_LEVEL, MK2_TILES
from ipulse_core.neurons.constants import TRAINED
from ipulse_ops.lif.network import Network
from ipulse_ops.lif.neuron_constants import current_scale, per_neuron, scale_by_decay
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.attributes import CONSTANTS, Wanted, attributes_of, needs_seed
from ipulse_ops.lif.poplar.build import build
from ipulse_ops.lif.poplar.outputs import output_specs, output_type
from ipulse_ops.lif.reference.trace import ConstantGradients, Gradients
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.philox import key_of
from ipulse_ops.reference.spikes import check_spikes
from poplar_emulator.custom_op import POISON, CustomOp


class PoplarLayerRun(NamedTuple):
    """Results of one layer: the fields of LayerTrace as float32."""

    spike_ids: np.ndarray  # [time, batch, slots]
    spike_counts: np.ndarray  # [time, batch, 2]
    dropped: np.ndarray  # [time, batch]
    surrogate: Optional[np.ndarray]  # [time, batch, slots]; None if it is recomputed
    membrane: Optional[np.ndarray]  # [time, batch, neurons], of a hidden layer on request


class PoplarRun(NamedTuple):
    """Results of a network over a whole sequence."""

    membrane: np.ndarray  # float32 [time, batch, classes]
    ignored: np.ndarray  # float32 [time, batch]: input slots with an id out of range
    layers: Tuple[PoplarLayerRun, ...]  # of the hidden layers, and of the readout if it spikes


class PoplarLIF:
    """A network's op compiled for one shape of input spikes."""

    def __init__(
        self,
        network: Network,
        steps: int,
        batch: int,
        input_slots: int,
        placement: Placement = Placement(),
        wanted: Wanted = Wanted(),
        tiles_per_ipu: int = MK2_TILES,
        api_level: int = API_LEVEL,
        options: Mapping[str, str] = {},
    ) -> None:
        """Compile the op.

        Raises UnsupportedNetwork; CustomOpError; MissingCompiler, BuildFailed.
        """
        self.network = network
        self.wanted = wanted
        self._dtype = "float32" if wanted.input_gradients else "int32"
        self._outputs = output_specs(network, steps, batch, wanted, placement)
        self._shapes = weight_shapes(network)
        inputs: List[Tuple[str, Tuple[int, ...]]] = [
            (self._dtype, (steps, batch, input_slots)),
            (self._dtype, (steps, batch)),
            *([("int32", (2,))] if needs_seed(network, wanted.states) else []),
        ]
        # Layer and name of each input with a gradient, in order; the layer of the spikes is None.
        self._by: List[Tuple[Optional[int], str]] = []
        with_gradients: List[int] = []
        if wanted.input_gradients:
            self._by.append((None, "ids"))
            with_gradients.append(0)
        for layer, constants in enumerate(_constants(network)):
            for shape in self._shapes:
                if shape.layer == layer:
                    self._by.append((layer, "weight"))
                    with_gradients.append(len(inputs))
                    inputs.append(("float32", shape.shape))
            for name, array in constants.items():
                if wanted.constant_gradients and name != "second_threshold":
                    self._by.append((layer, name))
                    with_gradients.append(len(inputs))
                inputs.append(("float32", array.shape))
        attributes = attributes_of(network, input_slots, placement, wanted)
        op = build(api_level)
        self.op = CustomOp(
            op.library,
            str(op.codelets),
            inputs,
            [(output_type(name, wanted), shape) for name, _, shape in self._outputs],
            attributes=attributes,
            gradient_attributes=attributes,
            inputs_with_gradients=with_gradients,
            api_level=api_level,
            ipus=placement.ipus,
            tiles_per_ipu=tiles_per_ipu,
            options={**POISON, **options},
        )

    def forward(
        self,
        weights: Sequence[np.ndarray],
        ids: np.ndarray,
        counts: np.ndarray,
        seed: int = 0,
        checked: bool = True,
    ) -> PoplarRun:
        """Run the network from rest; the arguments are those of reference.forward.

        checked: False passes ids out of range to the device, which ignores them.

        Raises ValueError if shapes, dtypes or, if they are checked, ids do not fit the network.
        """
        if checked:
            check_spikes(ids, counts, self.network.inputs)
        if len(weights) != len(self._shapes):
            raise ValueError(f"the network needs {len(self._shapes)} weights; got {len(weights)}")
        inputs = [ids.astype(self._dtype), counts.astype(self._dtype)]
        if needs_seed(self.network, self.wanted.states):
            inputs.append(np.array(key_of(seed), np.uint32).view(np.int32))
        for layer, constants in enumerate(_constants(self.network)):
            inputs += [w for w, shape in zip(weights, self._shapes) if shape.layer == layer]
            inputs += constants.values()
        found = self.op.forward(inputs)
        by_name: Dict[Tuple[int, str], np.ndarray] = {}
        for (name, layer, _), array in zip(self._outputs, found):
            by_name[layer, name] = array
        readout = len(self.network.layers)
        layers = []
        for layer in range(len(self.network.spiking)):
            surrogate = by_name.get((layer, "surrogate"))
            if surrogate is not None and surrogate.ndim == 4:
                # Each range of neurons has an array, with 0 in the slots of other ranges.
                surrogate = surrogate.sum(axis=2)
            layers.append(
                PoplarLayerRun(
                    spike_ids=by_name[layer, "spike_ids"],
                    spike_counts=by_name[layer, "spike_counts"],
                    dropped=by_name[layer, "dropped"],
                    surrogate=surrogate,
                    membrane=None if layer == readout else by_name.get((layer, "membrane")),
                )
            )
        return PoplarRun(by_name[readout, "membrane"], by_name[0, "ignored"], tuple(layers))

    def backward(
        self,
        grad_membrane: np.ndarray,
        grad_spikes: Optional[Sequence[Optional[np.ndarray]]] = None,
        grad_u: Optional[Sequence[Optional[np.ndarray]]] = None,
    ) -> Gradients:
        """Return a loss's gradients of the latest run.

        The arguments are those of reference.backward in float32; grad_u requires
        `wanted.membranes`. Gradients that were not requested are empty.
        """
        gradients = []
        readout = len(self.network.layers)
        for name, layer, shape in self._outputs:
            given: Optional[np.ndarray] = None
            if name == "membrane":
                given = grad_membrane if layer == readout else _of_layer(grad_u, layer)
            elif name == "spike_ids":
                given = _of_layer(grad_spikes, layer)
            dtype = output_type(name, self.wanted)
            gradients.append(np.zeros(shape, dtype) if given is None else given)
        found = self.op.backward(gradients)
        weights = [array for (_, name), array in zip(self._by, found) if name == "weight"]
        constants: Tuple[ConstantGradients, ...] = ()
        if self.wanted.constant_gradients:
            constants = tuple(self._constant_gradients(found))
        inputs = found[0] if self.wanted.input_gradients else np.zeros((0, 0, 0), np.float32)
        return Gradients(tuple(weights), inputs, constants)

    def _constant_gradients(self, found: Sequence[np.ndarray]) -> List[ConstantGradients]:
        by = {
            key: array.astype(np.float64)
            for key, array in zip(self._by, found)
            if key[1] not in ("ids", "weight")
        }
        gradients = []
        for number, layer in enumerate((*self.network.layers, self.network.readout)):
            # The op has the scale, which depends on the decay, as a separate input.
            gain = per_neuron(layer.gain, layer.neurons, "gain")
            by_decay = scale_by_decay(per_neuron(layer.decay, layer.neurons, "decay"), gain)
            decay = by[number, "decay"] + by_decay * by[number, "scale"]
            rest = {name: by.get((number, name)) for name in TRAINED if name != "decay"}
            gradients.append(ConstantGradients(decay, **rest))
        return gradients

    def close(self) -> None:
        """Release the emulated device."""
        self.op.close()

    def __enter__(self) -> PoplarLIF:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _of_layer(arrays: Optional[Sequence[Optional[np.ndarray]]], layer: int) -> Optional[np.ndarray]:
    return None if arrays is None else arrays[layer]


def _constants(network: Network) -> List[Dict[str, np.ndarray]]:
    """Return the constants per layer and readout, in the order of the op's inputs."""
    found: List[Dict[str, np.ndarray]] = []
    for layer in (*network.layers, network.readout):
        decay = per_neuron(layer.decay, layer.neurons, "decay")
        # Computed in float64, so that it is rounded once.
        scale = current_scale(decay, per_neuron(layer.gain, layer.neurons, "gain"))
        constants = {"decay": decay, "scale": scale}
        for name in CONSTANTS:
            value = getattr(layer, name, None)
            if value is not None:
                constants[name] = per_neuron(value, layer.neurons, name)
        found.append({name: array.astype(np.float32) for name, array in constants.items()})
    return found
