"""The neurons of a layer with equations, behind any weights, as a Keras layer."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core.equations.neuron import NeuronParameter
from ipulse_ops.equations.kernel import EquationsKernel
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.equations.poplar_kernel import EquationsOnTiles
from ipulse_ops.keras.constraints import clipped
from ipulse_ops.keras.single_layer import Spikes
from ipulse_ops.lif.slot_lists import later
from ipulse_ops.sparse import native


class NotFinite(ValueError):
    """A state of a neuron, or its gradient, is no finite number."""


class EquationsNeurons(tf.keras.layers.Layer):  # type: ignore[misc] # TensorFlow has no types
    """Neurons with equations; a subclass computes their current from its input weights.

    shape: of the input weights.
    layer: the equations.
    biases: number of trained currents that are added at every step; 0 for none.
    threads: of the kernel; results do not depend on it.
    tiles: of an emulated IPU that runs the neurons; None: the CPU runs them.
    input_scale: factor of the input weights, as after an average pool.

    Raises MissingCompiler, BuildFailed; MissingEmulator for tiles.
    """

    supports_jit = False  # as a MultiLIF

    def __init__(
        self,
        shape: Tuple[int, ...],
        layer: LayerEquations,
        biases: int = 0,
        threads: int = 1,
        tiles: Optional[int] = None,
        input_scale: float = 1.0,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        self.layer = layer
        self.threads = threads
        self.input_scale = input_scale
        self.failure: Optional[Exception] = None
        self._make_kernel(tiles)
        with tf.name_scope(self.name):  # Keras 2 names by it; two layers' names must differ
            self._kernels = [self._variable("kernel", shape, "glorot_uniform")]
            if layer.recurrent:
                square = (layer.neurons, layer.neurons)
                self._kernels.append(self._variable("recurrent", square, "glorot_uniform"))
            self._bias = self._variable("bias", (biases,), "zeros") if biases else None
            self._trained = tuple(self._trained_parameter(each) for each in layer.neuron.trained)
        self.built = True

    def _make_kernel(self, tiles: Optional[int]) -> None:
        """Build what runs the neurons."""
        if tiles is None:
            self._kernel: Any = EquationsKernel(self.layer, self.threads)
        else:
            self._kernel = EquationsOnTiles(self.layer, tiles)

    @property
    def kernels(self) -> List[Any]:
        """The input and recurrent weights and the bias, as far as it has them."""
        return self._kernels if self._bias is None else [*self._kernels, self._bias]

    @property
    def second_thresholds(self) -> List[Optional[Any]]:
        """None: a gate is part of the equations, and no variable."""
        return [None]

    def set_kernels(self, arrays: Sequence[np.ndarray]) -> None:
        """Set the weights, in the order of `kernels`."""
        for kernel, array in zip(self.kernels, arrays):
            kernel.assign(array)

    @property
    def kernel_seconds(self) -> Dict[str, float]:
        """The seconds that the neurons took on the CPU, by pass; on tiles none."""
        return dict(self._kernel.seconds) if isinstance(self._kernel, EquationsKernel) else {}

    def tile_profile(self) -> Optional[Dict[str, Any]]:
        """Return the profile of the neurons' program on tiles; None if there is none."""
        return self._kernel.profile() if isinstance(self._kernel, EquationsOnTiles) else None

    def set_parameters(self, values: Mapping[str, np.ndarray]) -> None:
        """Set the trained parameters, by name."""
        for parameter, variable in zip(self.layer.neuron.trained, self._trained):
            variable.assign(values[parameter.name])

    def match_deviations(self) -> None:
        """Do nothing: the weights are not standardised."""

    def neuron_spikes(self, ids: Any, counts: Any, training: Optional[bool] = None) -> Spikes:
        """Run the layer on spikes, as a LIFLayer; slots are as many as neurons."""
        keep = training is None or bool(training)
        return Spikes(*self._neurons(self.current(ids, counts), self._parameters_in_use(), keep))

    def current(self, ids: Any, counts: Any) -> Any:
        """Return the current that spikes and bias give, float32 `[time, batch, neurons]`."""
        raise NotImplementedError

    def _parameters_in_use(self) -> Any:
        """Return the parameters within their bounds, float32 `[parameters, neurons]`."""
        neuron, fixed = self.layer.neuron, self.layer.values()
        trained = dict(zip((each.name for each in neuron.trained), self._trained))
        rows = []
        for each in neuron.parameters:
            value = tf.constant(fixed[each.name].astype(np.float32))
            if each.is_trained:
                value = tf.convert_to_tensor(trained[each.name])
                value = clipped(value, *_bounds(each))
            repeats = [self.layer.neurons // int(value.shape[0])]
            rows.append(tf.stop_gradient(tf.tile(value, repeats)))
        if not rows:
            return tf.zeros([0, self.layer.neurons])
        return tf.stack(rows)

    def _neurons(self, current: Any, parameters: Any, keep: bool) -> Tuple[Any, Any]:
        trained = [tf.convert_to_tensor(variable) for variable in self._trained]
        recurrent = [tf.convert_to_tensor(kernel) for kernel in self._kernels[1:]]
        own = len(recurrent)
        if isinstance(self._kernel, EquationsOnTiles) and current.shape.is_fully_defined():
            self._kernel.compile(*current.shape.as_list()[:2])  # a job that only compiles needs it

        @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
        def apply(current: Any, parameters: Any, *variables: Any) -> Tuple[Any, Any]:
            recurrent, trained = variables[:own], variables[own:]
            forward, types = partial(self._forward, keep), [tf.float32] * (3 + own)
            arguments = [parameters, current, *recurrent]
            ids, counts, states, *total = tf.numpy_function(forward, arguments, types)
            ids.set_shape(current.shape)
            counts.set_shape([*current.shape[:2], 2])

            def gradient(by_ids: Any, _: Any) -> List[Any]:
                arguments = [parameters, current, states, by_ids, ids, counts, *recurrent, *total]
                types = [tf.float32] * (1 + len(trained))
                found = tf.numpy_function(self._backward, arguments, types)
                by_current, *rest = found if isinstance(found, (list, tuple)) else [found]
                by_current.set_shape(current.shape)
                for grad, value in zip(rest, trained):
                    grad.set_shape(value.shape)
                return [by_current, None, *self._by_recurrent(ids, counts, by_current), *rest]

            return (ids, counts), gradient

        made: Tuple[Any, Any] = apply(current, parameters, *recurrent, *trained)
        return made

    def _by_recurrent(self, ids: Any, counts: Any, by_current: Any) -> List[Any]:
        """Return the gradient of the recurrent weights, if there are any."""
        return [
            native.library().ipulse_spike_matmul_grad_weights(
                weights=tf.convert_to_tensor(kernel),
                ids=later(ids, 1),
                counts=later(counts, 1),
                grad_product=by_current,
            )
            for kernel in self._kernels[1:]
        ]

    def _forward(
        self, keep: bool, parameters: np.ndarray, current: np.ndarray, *recurrent: np.ndarray
    ) -> List[np.ndarray]:
        found = self._kernel.spikes(
            _whole(parameters), _whole(current), keep, *map(_whole, recurrent)
        )
        if found.first_bad_step >= 0:
            self._fail("a state", found.first_bad_step)
        return [found.ids, found.counts, found.states, *[found.current] * len(recurrent)]

    def _backward(
        self,
        parameters: np.ndarray,
        current: np.ndarray,
        states: np.ndarray,
        by_slots: np.ndarray,
        ids: np.ndarray,
        counts: np.ndarray,
        *rest: np.ndarray,
    ) -> List[np.ndarray]:
        parameters, current = _whole(parameters), _whole(current)
        recurrent = _whole(rest[0]) if rest else None
        if len(states) != len(current) + 1:  # outside of training they are not kept
            states = self._kernel.forward(parameters, current, True, recurrent).states
        current = _whole(rest[1]) if rest else current
        by_current, sums, bad = self._kernel.backward(
            parameters,
            current,
            _whole(states),
            _whole(by_slots),
            recurrent,
            (_whole(ids), _whole(counts)),
        )
        if bad >= 0:
            self._fail("the gradient", bad)
        found, values = [by_current], self.layer.values()
        for parameter, row in zip(self.layer.neuron.trained, sums):
            size = len(values[parameter.name])
            total = np.add.accumulate(row.reshape(-1, size))[-1]
            found.append(total.astype(np.float32))
        return found

    def _fail(self, what: str, step: int) -> None:
        self.failure = NotFinite(
            f"{what} of {self.name.replace('_', ' ')} (neuron {self.layer.neuron.name}) is no "
            f"finite number at time step {step:,} of a sample"
        )
        raise self.failure

    def _trained_parameter(self, parameter: NeuronParameter) -> Any:
        value = self.layer.values()[parameter.name].astype(np.float32)
        return self._variable(
            f"parameter_{parameter.name}",
            value.shape,
            tf.keras.initializers.Constant(value),
            constraint=partial(_clip, _bounds(parameter)),
        )

    def _variable(self, name: str, shape: Any, initializer: Any, **options: Any) -> Any:
        variable = self.add_weight(
            name=name, shape=shape, initializer=initializer, dtype="float32", **options
        )
        # An attribute, because TensorFlow's checkpoints do not find variables in lists.
        setattr(self, f"_variable_{name}", variable)
        return variable


def _bounds(parameter: NeuronParameter) -> Tuple[float, float]:
    largest = float(np.finfo(np.float32).max)
    return max(parameter.minimum, -largest), min(parameter.maximum, largest)


def _clip(bounds: Tuple[float, float], value: Any) -> Any:
    return tf.clip_by_value(value, *bounds)


def _whole(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array)
