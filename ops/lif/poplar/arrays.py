"""The Poplar op on NumPy arrays, run by the emulator: what tests and benchmarks call."""

from __future__ import annotations

import ctypes
import json
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ops.emulator.custom_op import API_LEVEL, MK2_TILES, CustomOp
from ops.lif.network import LIF, Network, per_neuron
from ops.lif.poplar.attributes import Placement, attributes_of
from ops.lif.poplar.build import build
from ops.lif.weights import weight_shapes
from ops.spikes import check_spikes

RESET_BITS = 24  # samples in a float of the resets


class LayerRun(NamedTuple):
    """What one layer did; the fields are LayerTrace's, as float32."""

    spike_ids: np.ndarray  # [time, batch, slots]
    spike_counts: np.ndarray  # [time, batch, 2]
    dropped: np.ndarray  # [time, batch]
    surrogate: np.ndarray  # [time, batch, slots]


class Run(NamedTuple):
    """What a network did over a whole sequence."""

    membrane: np.ndarray  # float32 [time, batch, classes]
    layers: Tuple[LayerRun, ...]  # of the hidden layers, and of the readout if it spikes


class PoplarLIF:
    """A network's op compiled for one shape of input spikes."""

    def __init__(
        self,
        network: Network,
        steps: int,
        batch: int,
        input_slots: int,
        placement: Placement = Placement(),  # noqa: B008 (frozen)
        input_gradients: bool = False,
        tiles_per_ipu: int = MK2_TILES,
        api_level: int = API_LEVEL,
        options: Mapping[str, str] = {},
    ) -> None:
        """Compile.

        Raises UnsupportedNetwork; CustomOpError; MissingCompiler, BuildFailed.
        """
        self.network = network
        self._input_gradients = input_gradients
        self._dtype = "float32" if input_gradients else "int32"
        self._outputs = output_specs(network, steps, batch)
        spikes = [(self._dtype, (steps, batch, input_slots)), (self._dtype, (steps, batch))]
        self._shapes = weight_shapes(network)
        inputs: List[Tuple[str, Tuple[int, ...]]] = list(spikes)
        self._weight_places: List[int] = []
        for layer in range(len(network.layers) + 1):
            for shape in self._shapes:
                if shape.layer == layer:
                    self._weight_places.append(len(inputs))
                    inputs.append(("float32", shape.shape))
            inputs += [("float32", array.shape) for array in _constants(network)[layer]]
        attributes = attributes_of(network, input_slots, placement, input_gradients)
        op = build(api_level)
        self.op = CustomOp(
            op.library,
            str(op.codelets),
            inputs,
            [("float32", shape) for _, _, shape in self._outputs],
            attributes=attributes,
            gradient_attributes=attributes,
            inputs_with_gradients=[*([0] if input_gradients else []), *self._weight_places],
            api_level=api_level,
            ipus=placement.ipus,
            tiles_per_ipu=tiles_per_ipu,
            options=options,
        )

    def forward(self, weights: Sequence[np.ndarray], ids: np.ndarray, counts: np.ndarray) -> Run:
        """Run the network from rest; the arguments are those of reference.forward.

        Raises ValueError if shapes, dtypes or ids do not fit the network.
        """
        check_spikes(ids, counts, self.network.inputs)
        if len(weights) != len(self._shapes):
            raise ValueError(f"the network needs {len(self._shapes)} weights; got {len(weights)}")
        inputs = [ids.astype(self._dtype), counts.astype(self._dtype)]
        for layer, constants in enumerate(_constants(self.network)):
            inputs += [w for w, shape in zip(weights, self._shapes) if shape.layer == layer]
            inputs += constants
        found = self.op.forward(inputs)
        by_name: Dict[int, Dict[str, np.ndarray]] = {}
        for (name, layer, _), array in zip(self._outputs, found):
            by_name.setdefault(layer, {})[name] = array
        membrane = by_name[len(self.network.layers)]["membrane"]
        layers = [
            LayerRun(*(by_name[layer][name] for name in LayerRun._fields))
            for layer in range(len(self.network.spiking))
        ]
        return Run(membrane, tuple(layers))

    def backward(
        self,
        grad_membrane: np.ndarray,
        grad_spikes: Optional[Sequence[Optional[np.ndarray]]] = None,
    ) -> List[np.ndarray]:
        """The gradients float32 of a loss, of the run before: by the weights, and, if the op was
        compiled for it, by the input's spikes `[time, batch, slots]` before them.

        The arguments are those of reference.backward, as float32.
        """
        gradients = []
        for name, layer, shape in self._outputs:
            given: Optional[np.ndarray] = None
            if name == "membrane":
                given = grad_membrane
            elif name == "spike_ids" and grad_spikes is not None:
                given = grad_spikes[layer]
            gradients.append(np.zeros(shape, np.float32) if given is None else given)
        return self.op.backward(gradients)

    def close(self) -> None:
        """Frees the emulated device."""
        self.op.close()

    def __enter__(self) -> PoplarLIF:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def output_specs(
    network: Network, steps: int, batch: int
) -> List[Tuple[str, int, Tuple[int, ...]]]:
    """Name, layer and shape of the op's outputs, all float32, in their order (operands.h)."""
    readout = len(network.layers)
    specs: List[Tuple[str, int, Tuple[int, ...]]] = [
        ("membrane", readout, (steps, batch, network.readout.neurons))
    ]
    not_term = network.reset_gradient != "term"
    for number, layer in enumerate(network.spiking):
        slots = (steps, batch, layer.slots)
        specs += [
            ("spike_ids", number, slots),
            ("spike_counts", number, (steps, batch, 2)),
            ("dropped", number, (steps, batch)),
            ("surrogate", number, slots),
        ]
        if network.reset == "zero" and network.reset_gradient == "none":
            specs.append(("slot_membrane", number, slots))
        unseen = network.reset_on == "state" and layer.slots < layer.neurons
        if network.reset == "zero" and not_term and unseen:
            words = -(-batch // RESET_BITS)
            specs.append(("resets", number, (steps, words, layer.neurons)))
    return specs


def tile_plan(
    network: Network,
    batch: int,
    input_slots: int,
    placement: Placement = Placement(),  # noqa: B008 (frozen)
    tiles_per_ipu: int = MK2_TILES,
) -> Dict[str, Any]:
    """Where the op puts the layers, and `load_balance`, mean over maximum of the tiles' work.

    Raises UnsupportedNetwork; ValueError if it does not fit the tiles.
    """
    library = ctypes.CDLL(str(build().library))
    text = ctypes.create_string_buffer(65536)
    attributes = attributes_of(network, input_slots, placement).encode()
    size = ctypes.c_size_t(len(text))
    if library.ipulse_lif_plan(attributes, batch, tiles_per_ipu, text, size):
        raise ValueError(text.value.decode())
    plan: Dict[str, Any] = json.loads(text.value.decode())
    return plan


def _constants(network: Network) -> List[List[np.ndarray]]:
    """Of each layer and the readout, in the order of the op's inputs."""
    found: List[List[np.ndarray]] = []
    for layer in (*network.layers, network.readout):
        decay = per_neuron(layer.decay, layer.neurons, "decay")
        # Rounded once, from float64.
        constants = [decay, per_neuron(layer.gain, layer.neurons, "gain") * (1 - decay)]
        if layer.synapse_decay is not None:
            constants.append(per_neuron(layer.synapse_decay, layer.neurons, "synapse_decay"))
        if isinstance(layer, LIF):
            constants.append(per_neuron(layer.threshold, layer.neurons, "threshold"))
            if layer.second_threshold is not None:
                second = per_neuron(layer.second_threshold, layer.neurons, "second_threshold")
                constants.append(second)
        found.append([array.astype(np.float32) for array in constants])
    return found
