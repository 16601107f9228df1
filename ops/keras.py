"""LIF networks as a Keras layer, on Keras 2 (TensorFlow 2.6) and Keras 3 (TensorFlow 2.21)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Dict, List, Optional, Sequence, Union

import numpy as np
import tensorflow as tf

from ops.lif.cpu.supported import check_supported
from ops.lif.network import LIF, Layer, LeakyReadout, Network, SuperSpike
from ops.lif.tensorflow_op import LIFOutputs, run_network
from ops.surrogate import Surrogate

__all__ = ["LIF", "LIFOutputs", "LeakyReadout", "MultiLIF", "SuperSpike"]


@tf.keras.utils.register_keras_serializable("ipulse")
class MultiLIF(tf.keras.layers.Layer):  # type: ignore[misc] # TensorFlow has no types
    """Feed-forward layers of LIF neurons and a leaky readout, over whole sequences.

    `net(ids, counts)` takes input spikes, ids int32 `[time, batch, slots]` and counts int32
    `[time, batch]`, and returns LIFOutputs. The equations are those of ops.lif.reference.

    inputs: channels of the input.
    layers, readout, reset_gradient, delay, surrogate: as in ops.lif.network.Network.
    threads: 0 for as many as the process may run on; results do not depend on it.

    Weights are glorot uniform until `set_weights` is called; they are always float32. With
    `training=False` nothing is kept for a backward pass, and a gradient is an error.

    Raises ValueError if a constant is out of range, UnsupportedNetwork, and what
    ops.lif.tensorflow_op.run_network raises.
    """

    # Keras 3 would compile a model that holds this layer with XLA, which knows no custom CPU op.
    supports_jit = False

    def __init__(
        self,
        inputs: int,
        layers: Sequence[Union[LIF, Dict[str, Any]]],
        readout: Union[Layer, Dict[str, Any]],
        reset_gradient: str = "mask",
        delay: int = 0,
        surrogate: Union[Surrogate, Dict[str, Any]] = SuperSpike(),  # noqa: B008 (frozen)
        threads: int = 0,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        self.network = Network(
            inputs=inputs,
            # Dictionaries are what get_config makes of them.
            layers=tuple(LIF(**layer) if isinstance(layer, dict) else layer for layer in layers),
            readout=LeakyReadout(**readout) if isinstance(readout, dict) else readout,
            reset_gradient=reset_gradient,
            delay=delay,
            surrogate=SuperSpike(**surrogate) if isinstance(surrogate, dict) else surrogate,
        )
        self._surrogate = check_supported(self.network)
        self.threads = threads
        sizes = self.network.sizes
        self._kernels = [
            self.add_weight(
                name=f"kernel_{number + 1}",
                shape=(sizes[number], sizes[number + 1]),
                dtype="float32",
                initializer="glorot_uniform",
                trainable=True,
            )
            for number in range(len(sizes) - 1)
        ]

    @property
    def kernels(self) -> List[Any]:
        """The weights as Keras variables, one `[N_in, N_out]` per layer and one for the readout.

        A row is a presynaptic neuron, so that an input spike is one contiguous row.
        """
        return list(self._kernels)

    def call(self, ids: Any, counts: Any, training: Optional[bool] = None) -> LIFOutputs:
        weights = [tf.convert_to_tensor(kernel) for kernel in self._kernels]
        keep = training is None or bool(training)
        return run_network(self.network, weights, ids, counts, self.threads, keep=keep)

    def get_config(self) -> Dict[str, Any]:
        network = self.network
        return {
            **super().get_config(),
            "inputs": network.inputs,
            "layers": [_plain(layer) for layer in network.layers],
            "readout": _plain(network.readout),
            "reset_gradient": network.reset_gradient,
            "delay": network.delay,
            "surrogate": _plain(self._surrogate),
            "threads": self.threads,
        }


def _plain(value: Union[LIF, LeakyReadout, SuperSpike]) -> Dict[str, Any]:
    """The fields as what JSON can hold."""
    return {
        name: field.tolist() if isinstance(field, np.ndarray) else field
        for name, field in asdict(value).items()
    }
