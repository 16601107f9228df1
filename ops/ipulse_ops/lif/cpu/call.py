"""One call of the kernels: a network and its input as structs of lif.h."""

from __future__ import annotations

import ctypes
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ipulse_ops.lif.cpu import abi, native
from ipulse_ops.lif.layer_constants import constants
from ipulse_ops.lif.network import LIF, Layer, LeakyReadout, Network
from ipulse_ops.lif.weights import check_shapes, weight_shapes
from ipulse_ops.validation import choice, whole

MESSAGE_SIZE = 512  # bytes


class Call:
    """A LifNetwork of lif.h with the arrays that it points to."""

    def __init__(
        self,
        network: Network,
        weights: Sequence[np.ndarray],
        ids: np.ndarray,
        counts: np.ndarray,
        seed: int,
        store: str,
        weight_type: str,
        threads: int,
        arch: Optional[int],
    ) -> None:
        if ids.ndim != 3 or counts.shape not in (ids.shape[:2], (*ids.shape[:2], 2)):
            raise ValueError(
                "ids must be [time, batch, slots] and counts [time, batch] or [time, batch, 2]; "
                f"got shapes {ids.shape} and {counts.shape}"
            )
        if network.has_residual or network.has_delays:
            raise ValueError(
                "residual additions and delays of connections are run layer by layer: use "
                "ipulse_ops.lif.tensorflow_op.run_network"
            )
        id_type = np.uint16 if ids.dtype == np.uint16 else np.int32
        ids = checked("ids", ids, ids.shape, id_type)
        counts = checked("counts", counts, counts.shape, np.int32)
        filled = None
        if counts.ndim == 3:
            filled = np.ascontiguousarray(counts[..., 1])
            counts = np.ascontiguousarray(counts[..., 0])
        if not 0 <= seed < 2**64:
            raise ValueError(f"seed must be 0 to 2^64 - 1; got {seed}")
        self._alive: List[Any] = [ids, counts, filled]
        layers: List[Layer] = [*network.layers, network.readout]
        self._layers = (abi.LifLayer * len(layers))()
        for number, (layer, delay) in enumerate(zip(layers, network.delays)):
            self._set_layer(self._layers[number], layer)
            self._layers[number].delay = delay
        self._set_weights(network, weights)
        self._network = abi.LifNetwork(
            version=abi.VERSION,
            steps=ids.shape[0],
            batch=ids.shape[1],
            inputs=network.inputs,
            input_slots=ids.shape[2],
            layers=len(network.spiking),
            leaky_readout=int(isinstance(network.readout, LeakyReadout)),
            reset=abi.RESET[network.reset],
            reset_on=abi.RESET_ON[network.reset_on],
            reset_gradient=abi.RESET_GRADIENT[network.reset_gradient],
            truncate=network.truncate or 0,
            weights=abi.WEIGHTS[choice("weight_type", weight_type, tuple(abi.WEIGHTS))],
            store=abi.STORE[choice("store", store, tuple(abi.STORE))],
            threads=whole("threads", threads, 0),
            arch=native.supported_arch() if arch is None else arch,
            seed=seed,
            surrogate=abi.surrogate(network.surrogate),
            id_bytes=ids.itemsize,
            ids=ids.ctypes.data,
            counts=counts.ctypes.data_as(abi.int32_p),
            filled=None if filled is None else filled.ctypes.data_as(abi.int32_p),
            layer=self._layers,
        )

    def _set_layer(self, target: abi.LifLayer, layer: Layer) -> None:
        arrays = constants(layer)
        self._alive.append(arrays)
        target.neurons = layer.neurons
        if isinstance(layer, LIF):
            target.slots = layer.slots
            target.policy = abi.POLICY[layer.policy]
            target.detach_adaptation = int(layer.detach_adaptation)
        for name, array in vars(arrays).items():
            setattr(target, name, abi.floats(array))

    def _set_weights(self, network: Network, weights: Sequence[np.ndarray]) -> None:
        check_shapes(network, [np.shape(array) for array in weights])
        for number, (array, expected) in enumerate(zip(weights, weight_shapes(network))):
            self._alive.append(checked(f"weights[{number}]", array, expected.shape))
            name = "weights" if expected.role == "input" else expected.role
            setattr(self._layers[expected.layer], name, abi.floats(self._alive[-1]))

    def bits_words(self, number: int) -> int:
        """Return the size of a layer's sets of neurons in 32-bit words."""
        steps, batch = self._network.steps, self._network.batch
        layer = ctypes.byref(self._layers[number])
        return int(native.library().lif_bits_words(steps, batch, layer))

    def run(self, function: Any, argument: ctypes.Structure) -> None:
        """Call lif_forward or lif_backward. Raises ValueError, MemoryError."""
        message = ctypes.create_string_buffer(MESSAGE_SIZE)
        size = ctypes.c_size_t(MESSAGE_SIZE)
        failed = function(ctypes.byref(self._network), ctypes.byref(argument), message, size)
        _check(failed, message)

    def slots(self, number: int, bits: np.ndarray) -> np.ndarray:
        """Return the ids in the slots of a layer, float32 `[time, batch, slots]`."""
        steps, batch, threads = self._network.steps, self._network.batch, self._network.threads
        layer = self._layers[number]
        found = np.empty((steps, batch, layer.slots), np.float32)
        message = ctypes.create_string_buffer(MESSAGE_SIZE)
        failed = native.library().lif_slots(
            *(steps, batch, ctypes.byref(layer), abi.uint32s(bits), threads, layer.slots),
            abi.floats(found),
            *(message, ctypes.c_size_t(MESSAGE_SIZE)),
        )
        _check(failed, message)
        return found


def _check(failed: int, message: ctypes.Array[ctypes.c_char]) -> None:
    if failed == abi.OUT_OF_MEMORY:
        raise MemoryError(message.value.decode())
    if failed:
        raise ValueError(message.value.decode())


def checked(
    name: str, array: np.ndarray, shape: Tuple[int, ...], dtype: Any = np.float32
) -> np.ndarray:
    """Return a contiguous array. Raises ValueError unless it has the dtype and shape."""
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(
            f"{name} must be {np.dtype(dtype).name} of shape {shape}; "
            f"got {array.dtype} of shape {array.shape}"
        )
    return np.ascontiguousarray(array)
