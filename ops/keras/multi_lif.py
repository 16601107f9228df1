"""A whole network of LIF layers as one Keras layer."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import tensorflow as tf

from ops.keras.config import layer_of, plain_layer, plain_surrogate, surrogate_of
from ops.lif.cpu.supported import UnsupportedNetwork, check_supported
from ops.lif.network import LIF, Layer, Network
from ops.lif.tensorflow_op import LIFOutputs, run_network
from ops.surrogate import SuperSpike, Surrogate

CONSTANTS = ("decay", "threshold", "synapse_decay")  # that a layer may train


@tf.keras.utils.register_keras_serializable("ipulse")
class MultiLIF(tf.keras.layers.Layer):  # type: ignore[misc] # TensorFlow has no types
    """Layers of LIF neurons and a readout, over whole sequences.

    `net(ids, counts)` takes input spikes, ids int32 `[time, batch, slots]` and counts int32
    `[time, batch]`, and returns LIFOutputs. The equations are those of ops.lif.reference.

    inputs: channels of the input.
    layers, readout, reset, reset_gradient, reset_on, delay, surrogate: as in
        ops.lif.network.Network.
    trainable: which constants are trained with the weights, of "decay", "threshold",
        "synapse_decay"; or False, as Keras says that nothing is.
    threads: 0 for as many as the process may run on; results do not depend on it.
    memory: what waits for the backward pass: "slots", the membranes that carry gradient;
        "recompute", the spikes alone, from which the layers are run again.
    weights_dtype: "bfloat16" rounds the weights to it for each run; they are kept, summed and
        trained in float32.
    return_membranes: whether the outputs hold every hidden layer's membranes.
    seed: of the policy "cyclic".

    Weights are glorot uniform until `set_weights` is called; they are always float32. With
    `training=False` nothing is kept for a backward pass, and a gradient is an error.

    Raises ValueError if an argument is out of range, UnsupportedNetwork, and what
    ops.lif.tensorflow_op.run_network raises.
    """

    # Keras 3 would compile a model that holds this layer with XLA, which knows no custom CPU op.
    supports_jit = False

    def __init__(
        self,
        inputs: int,
        layers: Sequence[Union[LIF, Dict[str, Any]]],
        readout: Union[Layer, Dict[str, Any]],
        reset: str = "zero",
        reset_gradient: str = "mask",
        reset_on: str = "state",
        delay: int = 0,
        surrogate: Union[Surrogate, Dict[str, Any], str] = SuperSpike(),  # noqa: B008 (frozen)
        trainable: Union[bool, Sequence[str]] = (),
        threads: int = 0,
        memory: str = "slots",
        weights_dtype: str = "float32",
        return_membranes: bool = False,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "float32")
        super().__init__(trainable=trainable is not False, **kwargs)
        self.network = Network(
            inputs=inputs,
            layers=tuple(_hidden(layer) for layer in layers),
            readout=layer_of(readout),
            reset=reset,
            reset_gradient=reset_gradient,
            reset_on=reset_on,
            delay=delay,
            surrogate=surrogate_of(surrogate),
        )
        self.trainable_constants = _constants_of(trainable)
        self.threads = threads
        self.memory = _choice("memory", memory, ("slots", "recompute"))
        self.weights_dtype = _choice("weights_dtype", weights_dtype, ("float32", "bfloat16"))
        self.return_membranes = return_membranes
        self.seed = seed
        self._refuse_what_is_missing()
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
        """The weights as Keras variables, in the order of ops.lif.weights.weight_shapes.

        A matrix is `[N_in, N_out]`: a row is a presynaptic neuron, so that an input spike is one
        contiguous row.
        """
        return list(self._kernels)

    def call(self, ids: Any, counts: Any, training: Optional[bool] = None) -> LIFOutputs:
        weights = [tf.convert_to_tensor(kernel) for kernel in self._kernels]
        keep = training is None or bool(training)
        return run_network(self.network, weights, ids, counts, self.threads, keep=keep)

    def get_config(self) -> Dict[str, Any]:
        network = self.network
        config = super().get_config()
        del config["trainable"]  # Keras's, which `frozen` says
        return {
            **config,
            "inputs": network.inputs,
            "layers": [plain_layer(layer) for layer in network.layers],
            "readout": plain_layer(network.readout),
            "reset": network.reset,
            "reset_gradient": network.reset_gradient,
            "reset_on": network.reset_on,
            "delay": network.delay,
            "surrogate": plain_surrogate(network.surrogate),
            "trainable": list(self.trainable_constants),
            "frozen": not self.trainable,
            "threads": self.threads,
            "memory": self.memory,
            "weights_dtype": self.weights_dtype,
            "return_membranes": self.return_membranes,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config: Dict[str, Any]) -> MultiLIF:
        config = dict(config)
        frozen = config.pop("frozen", False)
        layer = cls(**config)
        if frozen:
            layer.trainable = False
        return layer

    def _refuse_what_is_missing(self) -> None:
        check_supported(self.network)
        missing = [
            *(f"a trainable {name}" for name in self.trainable_constants),
            *(["memory recompute"] if self.memory == "recompute" else []),
            *(["weights_dtype bfloat16"] if self.weights_dtype == "bfloat16" else []),
            *(["return_membranes"] if self.return_membranes else []),
        ]
        if missing:
            raise UnsupportedNetwork(f"the TensorFlow op does not have {', '.join(missing)}")


def _hidden(layer: Union[LIF, Dict[str, Any]]) -> LIF:
    return LIF(**layer) if isinstance(layer, dict) else layer


def _constants_of(trainable: Union[bool, Sequence[str]]) -> Tuple[str, ...]:
    """The constants to train, in the order of CONSTANTS. Raises ValueError for an unknown name."""
    if isinstance(trainable, bool):
        return ()
    for name in [trainable] if isinstance(trainable, str) else trainable:
        _choice("trainable", name, CONSTANTS)
    return tuple(name for name in CONSTANTS if name in trainable)


def _choice(name: str, value: str, choices: Tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"{name} must be {', '.join(choices[:-1])} or {choices[-1]}; got {value}")
    return value
