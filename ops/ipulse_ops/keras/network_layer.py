"""The base class of the Keras layers: the arguments, variables and configuration of a network."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import tensorflow as tf

from ipulse_core.spec.start_weights import CONSTANTS
from ipulse_ops.keras.config import layer_of, plain_layer, plain_surrogate
from ipulse_ops.keras.constraints import above, clipped
from ipulse_ops.keras.trained_constants import BOUNDS, Trainable, trained_of
from ipulse_ops.lif.connection_delays import drawn_delays
from ipulse_ops.lif.network import LIF, Layer, Network
from ipulse_ops.lif.weights import WeightShape, check_shapes, weight_shapes
from ipulse_ops.philox import key_of
from ipulse_ops.surrogate import SuperSpike, Surrogate, surrogate_of


class NetworkLayer(tf.keras.layers.Layer):  # type: ignore[misc] # TensorFlow has no types
    """A network with its weights and constants as Keras variables; subclasses run it.

    inputs: channels of the input.
    layers, readout, reset, reset_gradient, reset_on, delay, surrogate, truncate: as in
        ipulse_ops.lif.network.Network. A surrogate may be its name in
        ipulse_ops.surrogate.SURROGATES.
    trainable: constants that are trained with the weights: names among "decay", "threshold",
        "synapse_decay", "adaptation_decay" and "adaptation_strength" for all layers that have
        them, or one list of names per layer and the readout. False freezes the weights, too, as
        in Keras.
    seed: seed of the policy "cyclic".

    Weights are initialised as Glorot uniform, biases as 0, delays of connections by drawing them
    with the seed. A trained constant is one variable
    `[neurons]`. It is used within its bounds: 0 to just below 1 for a decay, at least
    second_threshold for a threshold, at least 0 for an adaptation strength; a Keras optimizer
    keeps it there. The gradient is taken at
    the bounded value, so that a constant can leave its bound.

    Raises ValueError if an argument is out of range.
    """

    # Otherwise Keras 3 compiles a model with this layer by XLA, which has no custom CPU ops.
    supports_jit = False

    def __init__(
        self,
        inputs: int,
        layers: Sequence[Union[LIF, Dict[str, Any]]],
        readout: Union[Layer, Dict[str, Any]],
        reset: str = "zero",
        reset_gradient: str = "mask",
        reset_on: str = "state",
        delay: Union[int, Sequence[int]] = 0,
        surrogate: Union[Surrogate, Dict[str, Any], str] = SuperSpike(),
        truncate: Optional[int] = None,
        trainable: Trainable = (),
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "float32")
        super().__init__(trainable=trainable is not False, **kwargs)
        if self.compute_dtype != "float32":
            raise ValueError(f"dtype must be float32, as the ops are; got {self.compute_dtype}")
        if not isinstance(layers, (list, tuple)):
            raise ValueError(f"layers must be a list of LIF; got {layers!r}")
        self.network = Network(
            inputs=inputs,
            layers=tuple(LIF(**layer) if isinstance(layer, dict) else layer for layer in layers),
            readout=layer_of(readout),
            reset=reset,
            reset_gradient=reset_gradient,
            reset_on=reset_on,
            delay=delay if isinstance(delay, int) else tuple(delay),
            surrogate=surrogate_of(surrogate),
            truncate=truncate,
        )
        key_of(seed)
        self.seed = int(seed)
        self._all = (*self.network.layers, self.network.readout)
        self._trained = trained_of(trainable, self._all)
        with tf.name_scope(self.name):  # Keras 2 names by it; two layers' names must differ
            self._add_variables()

    @property
    def kernels(self) -> List[Any]:
        """The weights as Keras variables, in the order of ipulse_ops.lif.weights.weight_shapes.

        A matrix is `[N_in, N_out]`: one contiguous row per presynaptic neuron.
        """
        return list(self._kernels)

    @property
    def trained_constants(self) -> List[Dict[str, Any]]:
        """The trained constants per layer and readout, Keras variables `[neurons]`."""
        return [dict(of_layer) for of_layer in self._constants]

    @property
    def second_thresholds(self) -> List[Optional[Any]]:
        """One variable `[neurons]` per layer and readout, None where all neurons carry gradient.

        A schedule may assign to them without a new trace. A fixed threshold bounds them from
        above; a trained threshold is bounded by them from below.
        """
        return list(self._second_thresholds)

    def set_kernels(self, arrays: Sequence[np.ndarray]) -> None:
        """Set the weights, in the order of ipulse_ops.lif.weights.weight_shapes.

        Raises ValueError if their number or shapes do not fit.
        """
        check_shapes(self.network, [np.shape(array) for array in arrays])
        for kernel, array in zip(self._kernels, arrays):
            kernel.assign(array)

    def constants_in_use(self) -> List[Dict[str, Any]]:
        """Return the constants that are variables, per layer and readout, within their bounds.

        They are tensors `[neurons]` by name, for ipulse_ops.lif.tensorflow_op.run_network.
        """
        found: List[Dict[str, Any]] = []
        for layer, variables, variable in zip(self._all, self._constants, self._second_thresholds):
            tensors = {name: tf.convert_to_tensor(var) for name, var in variables.items()}
            for name, (low, high) in BOUNDS.items():
                if name in tensors:
                    tensors[name] = clipped(tensors[name], low, high)
            if variable is not None and isinstance(layer, LIF):
                second = tf.convert_to_tensor(variable)
                if "threshold" in tensors:
                    tensors["threshold"] = above(tensors["threshold"], second)
                    tensors["second_threshold"] = second
                else:
                    limit = np.asarray(layer.threshold, np.float32)
                    tensors["second_threshold"] = tf.minimum(second, limit)
            found.append(tensors)
        return found

    def get_config(self) -> Dict[str, Any]:
        """Return the arguments as plain JSON values."""
        network = self.network
        config = super().get_config()
        del config["trainable"]  # stored as `frozen`
        return {
            **config,
            "inputs": network.inputs,
            "layers": [plain_layer(layer) for layer in network.layers],
            "readout": plain_layer(network.readout),
            "reset": network.reset,
            "reset_gradient": network.reset_gradient,
            "reset_on": network.reset_on,
            "delay": network.delay if isinstance(network.delay, int) else list(network.delay),
            "surrogate": plain_surrogate(network.surrogate),
            "truncate": network.truncate,
            "trainable": [list(names) for names in self._trained],
            "frozen": not self.trainable,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config: Dict[str, Any]) -> NetworkLayer:
        """Create a layer from what `get_config` returned."""
        config = dict(config)
        frozen = config.pop("frozen", False)
        layer = cls(**config)
        if frozen:
            layer.trainable = False
        return layer

    def _add_variables(self) -> None:
        self._kernels = [
            self._variable(
                f"{'kernel' if shape.role == 'input' else shape.role}_{shape.layer + 1}",
                shape=shape.shape,
                **self._options_of(shape),
            )
            for shape in weight_shapes(self.network)
        ]
        # Tuples, because Keras wraps lists.
        self._second_thresholds = tuple(
            self._constant(number, "second_threshold")
            if getattr(layer, "second_threshold", None) is not None
            else None
            for number, layer in enumerate(self._all)
        )
        self._dropout_step = None
        if self.network.has_dropout:
            self._dropout_step = self.add_weight(
                name="dropout_step",
                shape=(),
                dtype="int64",
                initializer="zeros",
                trainable=False,
            )
        self._constants: Tuple[Dict[str, Any], ...] = tuple({} for _ in self._all)
        for name in CONSTANTS:
            for number, names in enumerate(self._trained):
                if name in names:
                    self._constants[number][name] = self._constant(number, name)

    def _options_of(self, shape: WeightShape) -> Dict[str, Any]:
        """Return how a weight is initialised and trained."""
        connections = self._all[shape.layer].delays
        if connections is None or shape.role != "delays":
            initializer = "zeros" if shape.role == "bias" else "glorot_uniform"
            return {"initializer": initializer, "trainable": True}
        sizes = self.network.sizes[shape.layer : shape.layer + 2]
        drawn = drawn_delays(connections, self.seed, shape.layer, *sizes)
        found: Dict[str, Any] = {
            "initializer": tf.keras.initializers.Constant(drawn),
            "trainable": connections.are_trained,
        }
        if connections.are_trained:
            found["constraint"] = partial(_clip, (0.0, float(connections.longest)))
        return found

    def _constant(self, number: int, name: str) -> Any:
        layer = self._all[number]
        constraint: Optional[Callable[[Any], Any]] = None
        if name in BOUNDS:
            constraint = partial(_clip, BOUNDS[name])
        elif name == "threshold" and self._second_thresholds[number] is not None:
            constraint = self._above_second_threshold(number)
        value = np.broadcast_to(np.asarray(getattr(layer, name), np.float32), (layer.neurons,))
        return self._variable(
            f"{name}_{number + 1}",
            shape=(layer.neurons,),
            initializer=tf.keras.initializers.Constant(value),
            trainable=name != "second_threshold",
            constraint=constraint,
        )

    def _above_second_threshold(self, number: int) -> Callable[[Any], Any]:
        second = self._second_thresholds[number]
        return lambda value: tf.maximum(value, tf.convert_to_tensor(second))

    def _variable(self, name: str, **options: Any) -> Any:
        variable = self.add_weight(name=name, dtype="float32", **options)
        # An attribute, because TensorFlow's checkpoints and SavedModels do not find variables in
        # lists and dicts of Keras 3.
        setattr(self, f"_{name}", variable)
        return variable


def _clip(bounds: Tuple[float, float], value: Any) -> Any:
    return tf.clip_by_value(value, *bounds)
