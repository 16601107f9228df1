"""The neurons of a layer with equations, behind any weights, as a Keras layer."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import tensorflow as tf

from ipulse_core.equations.neuron import NeuronParameter
from ipulse_ops.equations.kernel import EquationsKernel, Senders
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.equations.poplar_kernel import EquationsOnTiles
from ipulse_ops.equations.source import with_gradients
from ipulse_ops.keras.constraints import clipped
from ipulse_ops.lif.connection_delays import ConnectionDelays, drawn_for
from ipulse_ops.lif.slot_lists import later
from ipulse_ops.lif.weight_types import WEIGHT_TYPES, rounded
from ipulse_ops.quantisation import Quantisation, quantisation_of
from ipulse_ops.reference.select_spikes import (
    POLICIES,
    Selection,
    cyclic_offsets,
    filled,
    select_spikes,
)
from ipulse_ops.sparse import native
from ipulse_ops.sparse.seed import word64
from ipulse_ops.training.quantised_weights import quantised
from ipulse_ops.training.standardised_weights import deviation_of
from ipulse_ops.training.standardised_weights import standardised as standardised_weights
from ipulse_ops.validation import choice, whole


class NeuronSpikes(NamedTuple):
    """The spikes of a layer before a pool, float32."""

    ids: Any  # as in Spikes
    counts: Any
    dropped: Any  # [time, batch]: spikes beyond the capacity
    membrane: Optional[Any] = None  # [time, batch, neurons]; None of a layer that shows none


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
    quantisation: the rule by which runs replace the weights by integers times a scale; None: none.
    standardised: True replaces the input weights of each neuron or filter by standardised ones
        times a trained standard deviation.
    weights_dtype: "bfloat16" rounds the weights to it for each run.
    capacity: number of slots for neurons that spike or carry gradient, which others send nothing
        to; None for one slot per neuron.
    policy, seed: which neurons get a slot, as of ipulse_ops.reference.select_spikes.
    delays: of the connections from the senders; None: their spikes arrive at once.

    Raises ValueError for a capacity of a recurrent layer on tiles; MissingCompiler, BuildFailed;
    MissingEmulator for tiles.
    """

    supports_jit = False  # as a MultiLIF
    _more_kept = 0  # arrays besides the states that a subclass keeps for the backward pass

    def __init__(
        self,
        shape: Tuple[int, ...],
        layer: LayerEquations,
        biases: int = 0,
        threads: int = 1,
        tiles: Optional[int] = None,
        input_scale: float = 1.0,
        quantisation: Union[Quantisation, Dict[str, Any], None] = None,
        standardised: bool = False,
        weights_dtype: str = "float32",
        capacity: Optional[int] = None,
        policy: str = "index",
        seed: int = 0,
        delays: Optional[ConnectionDelays] = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        self.layer = layer
        self.threads = threads
        self.input_scale = input_scale
        (self.quantisation,) = quantisation_of(quantisation, 1)
        self.weights_dtype = choice("weights_dtype", weights_dtype, WEIGHT_TYPES)
        if capacity is not None:
            whole("capacity", capacity, 1, layer.neurons)
            if layer.recurrent and tiles is not None:
                raise ValueError("a recurrent layer on tiles has one slot per neuron")
        self.capacity, self.policy, self.seed = capacity, choice("policy", policy, POLICIES), seed
        self.delays = delays
        self.failure: Optional[Exception] = None
        self._make_kernel(tiles)
        with tf.name_scope(self.name):  # Keras 2 names by it; two layers' names must differ
            self._kernels = [self._variable("kernel", shape, "glorot_uniform")]
            if layer.recurrent:
                own = layer.recurrent_weights
                self._kernels.append(self._variable("recurrent", own, "glorot_uniform"))
            self._bias = self._variable("bias", (biases,), "zeros") if biases else None
            self._steps = None if delays is None else self._add_delays(delays, shape)
            self._constants = self._add_constants()
            self._deviation = None
            if standardised:
                self._deviation = self._variable("weight_std", shape[-1:], "ones")
            self._trained = self._add_parameters()
        self.built = True

    def _make_kernel(self, tiles: Optional[int]) -> None:
        """Build what runs the neurons."""
        if tiles is None:
            self._kernel: Any = EquationsKernel(self.layer, self.threads)
        else:
            self._kernel = EquationsOnTiles(self.layer, tiles)

    @property
    def kernels(self) -> List[Any]:
        """The input and recurrent weights, the bias and the delays, as far as it has them."""
        rest = [each for each in (self._bias, self._steps) if each is not None]
        return [*self._kernels, *rest]

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
        """Set the trained standard deviations to those of the weights."""
        if self._deviation is not None:
            self._deviation.assign(deviation_of(self._kernels[0]))

    def weights_in_use(self) -> List[Any]:
        """Return the input and recurrent weights as runs read them."""
        first, *rest = self._kernels
        if self._deviation is not None:
            first = standardised_weights(first, self._deviation)
        return [
            rounded(quantised(weights, self.quantisation), self.weights_dtype)
            for weights in (first, *rest)
        ]

    def neuron_spikes(
        self,
        ids: Any,
        counts: Any,
        training: Optional[bool] = None,
        factor: float = 1.0,
        seed: Optional[Any] = None,
    ) -> NeuronSpikes:
        """Run the layer on spikes, as a LIFLayer.

        factor: of the input weights in this run, as with dropout.
        seed: replaces the layer's.
        """
        keep = training is None or bool(training) or self.layer.shows_membranes
        current = self.current(ids, counts, factor, training)
        drawn = word64(self.seed if seed is None else seed)
        return NeuronSpikes(*self._neurons(current, self._parameters_in_use(), keep, drawn))

    def current(
        self, ids: Any, counts: Any, factor: float = 1.0, training: Optional[bool] = None
    ) -> Any:
        """Return the current that spikes and bias give, float32 `[time, batch, neurons]`."""
        raise NotImplementedError

    def _parameters_in_use(self) -> Any:
        """Return the parameters within their bounds, float32 `[parameters, neurons]`."""
        neuron, fixed = self.layer.neuron, self.layer.values()
        trained = dict(zip((each.name for each in neuron.trained), self._trained_values()))
        rows = []
        for each in neuron.parameters:
            value = trained.get(each.name)
            if value is None:
                value = tf.constant(fixed[each.name].astype(np.float32))
            repeats = [self.layer.neurons // int(value.shape[0])]
            rows.append(tf.stop_gradient(tf.tile(value, repeats)))
        if not rows:
            return tf.zeros([0, self.layer.neurons])
        return tf.stack(rows)

    def _trained_values(self) -> List[Any]:
        """Return the trained parameters within their bounds, in their order."""
        return [
            clipped(tf.convert_to_tensor(variable), *_bounds(each))
            for each, variable in zip(self.layer.neuron.trained, self._trained)
        ]

    def _neurons(self, current: Any, parameters: Any, keep: bool, seed: Any) -> Tuple[Any, ...]:
        trained = self._trained_values()
        recurrent = [tf.convert_to_tensor(kernel) for kernel in self.weights_in_use()[1:]]
        own = len(recurrent)
        if isinstance(self._kernel, EquationsOnTiles) and current.shape.is_fully_defined():
            self._kernel.compile(*current.shape.as_list()[:2])  # a job that only compiles needs it

        @tf.custom_gradient  # type: ignore[untyped-decorator] # TensorFlow has no types
        def apply(current: Any, parameters: Any, *variables: Any) -> Tuple[Any, Any]:
            recurrent, trained = variables[:own], variables[own:]
            forward = partial(self._listed, keep)
            types = [tf.float32] * (4 + own + self._more_kept)
            arguments = [seed, parameters, current, *recurrent]
            ids, counts, dropped, states, *total = tf.numpy_function(forward, arguments, types)
            ids.set_shape([*current.shape[:2], self.capacity or self.layer.neurons])
            counts.set_shape([*current.shape[:2], 2])
            dropped.set_shape(current.shape[:2])
            membranes = [states[1:, :, -1]] if self.layer.shows_membranes else []
            for each in membranes:
                each.set_shape(current.shape)

            def gradient(by_ids: Any, *others: Any) -> List[Any]:
                kept = states
                if membranes:
                    kept = tf.numpy_function(with_gradients, [states, others[-1]], tf.float32)
                arguments = [parameters, current, kept, by_ids, ids, counts, *recurrent, *total]
                types = [tf.float32] * (1 + len(trained))
                found = tf.numpy_function(self._backward, arguments, types)
                by_current, *rest = found if isinstance(found, (list, tuple)) else [found]
                by_current.set_shape(current.shape)
                for grad, value in zip(rest, trained):
                    grad.set_shape(value.shape)
                own_gradients = self._by_recurrent(recurrent, ids, counts, by_current)
                return [by_current, None, *own_gradients, *rest]

            return (ids, counts, dropped, *membranes), gradient

        made: Tuple[Any, ...] = apply(current, parameters, *recurrent, *trained)
        return made

    def _by_recurrent(
        self, recurrent: Sequence[Any], ids: Any, counts: Any, by_current: Any
    ) -> List[Any]:
        """Return the gradient of the recurrent weights, if there are any."""
        return [
            native.library().ipulse_spike_matmul_grad_weights(
                weights=kernel,
                ids=later(ids, 1),
                counts=later(counts, 1),
                grad_product=by_current,
            )
            for kernel in recurrent
        ]

    def _listed(self, keep: bool, seed: np.ndarray, *arrays: np.ndarray) -> List[np.ndarray]:
        """Return ids, counts and the spikes without a slot, and what `_forward` returns else."""
        if self.capacity is None:
            ids, counts, *rest = self._forward(keep, *arrays)
            return [ids, counts, np.zeros(counts.shape[:2], np.float32), *rest]
        x, *rest = self._values(keep, int(seed), *arrays)
        gate = None if self.layer.gate is None else np.array(self.layer.gate, np.float32)
        chosen = chosen_slots(x, self.capacity, self.policy, int(seed), gate)
        return [*(array.astype(np.float32) for array in chosen), *rest]

    def _values(
        self,
        keep: bool,
        seed: int,
        parameters: np.ndarray,
        current: np.ndarray,
        *recurrent: np.ndarray,
    ) -> List[np.ndarray]:
        """Return the value of `spike` of every neuron, and the rest as `_forward`."""
        arguments = [_whole(parameters), _whole(current), keep, *map(_whole, recurrent)]
        if recurrent:
            firsts = _offsets(self.policy, seed, current.shape)
            if firsts is None:
                firsts = np.full(current.shape[:2], -1 if self.policy == "top" else 0, np.int64)
            arguments.append(Senders(int(self.capacity or 0), _whole(firsts)))
        found = self._kernel.forward(*arguments)
        if found.first_bad_step >= 0:
            self._fail("a state", found.first_bad_step)
        return [found.x, found.states, *[found.current] * len(recurrent)]

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
        current = _whole(rest[1]) if rest else current
        if len(states) != len(current) + 1:  # outside of training they are not kept
            none = None if recurrent is None else np.zeros_like(recurrent)  # current has them
            states = self._kernel.forward(parameters, current, True, none).states
        lists = None if self.capacity else (_whole(ids), _whole(counts))
        arguments: List[Any] = [recurrent, lists]
        if self.capacity:
            by_slots = by_neurons(by_slots, ids, counts, self.layer.neurons)
            if rest:
                ones = np.ones(ids.shape, np.float32)
                arguments.append(by_neurons(ones, ids, counts, self.layer.neurons))
        by_current, sums, bad = self._kernel.backward(
            parameters, current, _whole(states), _whole(by_slots), *arguments
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

    def _add_constants(self) -> Dict[str, Any]:
        """Return the trained constants of LIF neurons by name; a subclass may have some."""
        return {}

    def _add_delays(self, delays: ConnectionDelays, weights: Tuple[int, ...]) -> Any:
        """Return the variable of the delays of input weights of a shape."""
        drawn = drawn_for(delays, self.seed, 0, weights)
        bounds = {"clip_value_min": 0.0, "clip_value_max": float(delays.longest)}
        return self._variable(
            "delays",
            drawn.shape,
            tf.keras.initializers.Constant(drawn),
            trainable=delays.are_trained,
            constraint=partial(tf.clip_by_value, **bounds) if delays.are_trained else None,
        )

    def _steps_in_use(self, training: Optional[bool]) -> Any:
        """Return the delays as a run reads them."""
        steps = tf.convert_to_tensor(self._steps)
        is_rounded = self.delays is not None and self.delays.rounded and not training
        return tf.round(steps) if is_rounded else steps

    def _add_parameters(self) -> Tuple[Any, ...]:
        """Return the variables of the trained parameters."""
        return tuple(self._trained_parameter(each) for each in self.layer.neuron.trained)

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


def chosen_slots(
    x: np.ndarray, capacity: int, policy: str, seed: int, gate: Optional[np.ndarray] = None
) -> Selection:
    """Return the neurons of `x [time, batch, neurons]`, above 0 where they spike, with a slot."""
    return select_spikes(x, 0.0, gate, capacity, policy, _offsets(policy, seed, x.shape))


def _offsets(policy: str, seed: int, shape: Sequence[int]) -> Optional[np.ndarray]:
    """Return the neurons from which slots are given, `[time, batch]`; None: of another policy."""
    return cyclic_offsets(seed % 2**64, 0, *shape) if policy == "cyclic" else None


def by_neurons(
    by_slots: np.ndarray, ids: np.ndarray, counts: np.ndarray, neurons: int
) -> np.ndarray:
    """Return numbers of filled slots by neuron, 0 for those without one."""
    found = np.zeros((*ids.shape[:2], neurons), np.float32)
    place = np.nonzero(filled(ids, counts[..., 1]))
    found[(*place[:-1], ids[place].astype(np.int64))] = by_slots[place]
    return found


def _bounds(parameter: NeuronParameter) -> Tuple[float, float]:
    largest = float(np.finfo(np.float32).max)
    return max(parameter.minimum, -largest), min(parameter.maximum, largest)


def _clip(bounds: Tuple[float, float], value: Any) -> Any:
    return tf.clip_by_value(value, *bounds)


def _whole(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array)
