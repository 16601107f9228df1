"""The base class of convolutions in Keras: variables, and runs of the op."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import tensorflow as tf

from ipulse_core.ipu import MK2_TILES
from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.conv.tensorflow_op import ConvOutputs, run_conv
from ipulse_ops.keras.single_layer import BatchFirstSpikes, PooledRun, Spikes
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.lif.poplar.backends import conv_ops
from ipulse_ops.lif.slot_lists import later
from ipulse_ops.lif.weight_types import WEIGHT_TYPES, rounded
from ipulse_ops.quantisation import Quantisation, quantisation_of
from ipulse_ops.training import standardised_weights
from ipulse_ops.training.quantised_weights import quantised
from ipulse_ops.validation import choice, flag, whole

BACKENDS = ("cpu", "emulator", "ipu")


class Convolution(tf.keras.layers.Layer):  # type: ignore[misc] # TensorFlow has no types
    """A convolution of a description, with its weights as Keras variables.

    neurons: the sizes and the neurons.
    quantisation: the rule by which each run replaces the kernel by integers times a scale per
        filter or layer; None to use the kernel as it is. The gradient passes straight through.
    standardised: True replaces the kernel of each filter by a standardised one times a trained
        standard deviation, before it is quantised; see ipulse_ops.reference.standardisation.
    weights_dtype: "bfloat16" rounds the kernel to it for each run.
    threads: 0 for all processors that the process may use; results do not depend on it.
    time_major: False puts the batch axis before the time axis, in inputs and outputs.
    backend: "cpu", or "emulator" and "ipu", which run the Poplar ops on one IPU. They need inputs
        with static shapes, and their outputs have a slot for each neuron that is not cropped by the
        pool; pooled sites without a spike are listed in another order. Spikes and gradients have
        the bits of the CPU, but for gradients with the surrogate Exponential, which may differ in
        the last ones.
    tiles_per_ipu: number of tiles of an emulated IPU.

    Runs raise MissingCompiler, BuildFailed, and MissingEmulator or MissingSDK with the back end.
    """

    # Otherwise Keras 3 compiles a model with this layer by XLA, which has no custom CPU ops.
    supports_jit = False

    def __init__(
        self,
        neurons: ConvLIF,
        threads: int = 0,
        time_major: bool = True,
        quantisation: Union[Quantisation, Dict[str, Any], None] = None,
        standardised: bool = False,
        weights_dtype: str = "float32",
        backend: str = "cpu",
        tiles_per_ipu: int = MK2_TILES,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        if self.compute_dtype != "float32":
            raise ValueError(f"dtype must be float32, as the ops are; got {self.compute_dtype}")
        self.neurons = neurons
        (self.quantisation,) = quantisation_of(quantisation, 1)
        self.weights_dtype = choice("weights_dtype", weights_dtype, WEIGHT_TYPES)
        self.threads = whole("threads", threads, 0)
        self.time_major = flag("time_major", time_major)
        self.backend = choice("backend", backend, BACKENDS)
        self.tiles_per_ipu = whole("tiles_per_ipu", tiles_per_ipu)
        with tf.name_scope(self.name):  # Keras 2 names by it; two layers' names must differ
            self._add_variables(flag("standardised", standardised))

    def _add_variables(self, is_standardised: bool) -> None:
        geometry, second = self.geometry, self.neurons.second_threshold
        by_filter = (geometry.filters,)
        glorot = tf.keras.initializers.GlorotUniform()
        self._kernel = self._variable("kernel", geometry.weights, glorot)
        self._bias = self._variable("bias", by_filter, "zeros") if self.neurons.bias else None
        self.deviation = None
        if is_standardised:
            self.deviation = self._variable("weight_std", by_filter, "ones")
        self.second_threshold = None
        if second is not None:
            constant = tf.keras.initializers.Constant(second)
            self.second_threshold = self._variable("second_threshold", (), constant, False)

    def _variable(
        self, name: str, shape: Tuple[int, ...], initializer: Any, trainable: bool = True
    ) -> Any:
        return self.add_weight(
            name=name, shape=shape, dtype="float32", initializer=initializer, trainable=trainable
        )

    @property
    def geometry(self) -> ConvGeometry:
        """The sizes of input, neurons and pool."""
        return self.neurons.geometry

    @property
    def kernels(self) -> List[Any]:
        """The kernel `[height, width, channels / groups, filters]`, then the bias, if any."""
        return [self._kernel] if self._bias is None else [self._kernel, self._bias]

    @property
    def second_thresholds(self) -> List[Optional[Any]]:
        """The variable of the second threshold, None where all neurons carry gradient."""
        return [self.second_threshold]

    def match_deviations(self) -> None:
        """Set the trained standard deviation of each filter to that of the kernel."""
        if self.deviation is not None:
            self.deviation.assign(standardised_weights.deviation_of(self._kernel))

    def set_kernels(self, arrays: Sequence[np.ndarray]) -> None:
        """Set the kernel and the bias, and the standard deviations to those of the kernel.

        Raises ValueError if number or shapes do not fit.
        """
        found = [tuple(np.shape(array)) for array in arrays]
        expected = [tuple(kernel.shape) for kernel in self.kernels]
        if found != expected:
            raise ValueError(f"{self.name} needs weights of the shapes {expected}; got {found}")
        for kernel, array in zip(self.kernels, arrays):
            kernel.assign(array)
        self.match_deviations()

    def call(self, ids: Any, counts: Optional[Any] = None, training: Optional[bool] = None) -> Any:
        """Run the layer on spikes and return Spikes of the pooled sites."""
        outputs = self.run(ids, counts, training)
        kind = Spikes if self.time_major else BatchFirstSpikes
        return kind(outputs.spike_ids, outputs.spike_counts)

    def run(
        self,
        ids: Any,
        counts: Optional[Any] = None,
        training: Optional[bool] = None,
        is_pooled: bool = True,
        factor: float = 1.0,
    ) -> ConvOutputs:
        """Run the layer and return all of its results.

        is_pooled: False lists neurons, (y * width + x) * filters + filter, instead of the pooled
            sites.
        factor: of the kernel in this run, as with dropout.
        """
        ids, counts = self._entering(ids, counts)
        if self.backend == "cpu":
            outputs = self._on_cpu(ids, counts, training, is_pooled, factor)
        else:
            outputs, neurons = self._on_tiles(ids, counts, factor)
            outputs = outputs if is_pooled else neurons
        return outputs if self.time_major else ConvOutputs(*map(_swapped, outputs))

    def run_pooled(
        self,
        ids: Any,
        counts: Optional[Any] = None,
        training: Optional[bool] = None,
        factor: float = 1.0,
        seed: Optional[Any] = None,
    ) -> PooledRun:
        """Run the layer, and list its neurons and its pooled sites; `seed` has no effect."""
        if self.backend != "cpu":
            run, listed = self._on_tiles(*self._entering(ids, counts), factor)
            if not self.time_major:
                run, listed = (ConvOutputs(*map(_swapped, each)) for each in (run, listed))
            return PooledRun(
                Spikes(run.spike_ids, run.spike_counts), listed.spike_ids, run.activity
            )
        run = self.run(ids, counts, training, factor=factor)
        listed = run
        if self.geometry.pool != (1, 1):
            # In a graph nothing computes this a second time unless somebody reads it.
            listed = self.run(ids, counts, training, is_pooled=False, factor=factor)
        return PooledRun(Spikes(run.spike_ids, run.spike_counts), listed.spike_ids, run.activity)

    def _on_cpu(
        self, ids: Any, counts: Any, training: Optional[bool], is_pooled: bool, factor: float
    ) -> ConvOutputs:
        neurons = self._scaled(factor)
        if not is_pooled:
            neurons = replace(neurons, geometry=replace(neurons.geometry, pool=(1, 1)))
        return run_conv(
            neurons,
            *self._weights_in_use(),
            ids,
            counts,
            second_threshold=self._second_threshold_in_use(),
            threads=self.threads,
            keep=training is None or bool(training),
        )

    def _scaled(self, factor: float) -> ConvLIF:
        """Return the layer with a factor of its kernel."""
        if factor == 1:
            return self.neurons
        return replace(self.neurons, input_scale=self.neurons.input_scale * factor)

    def _on_tiles(self, ids: Any, counts: Any, factor: float) -> Tuple[ConvOutputs, ConvOutputs]:
        """Return the pooled sites and the neurons."""
        ops = conv_ops(self.tiles_per_ipu if self.backend == "emulator" else None)
        kernel, bias = self._weights_in_use()
        delay = self.neurons.delay
        ids, counts = later(ids, delay), later(counts, delay)
        second = self._second_threshold_in_use()
        found, activity = ops.conv_lif(self._scaled(factor), kernel, ids, counts, bias, second)
        neurons = ConvOutputs(found, activity, activity)
        if self.geometry.pool == (1, 1):
            return neurons, neurons
        pooled, pooled_counts = ops.pooled_spikes(self.geometry, found, activity)
        pooled = pooled[..., : self.geometry.pooled_neurons]
        return ConvOutputs(pooled, pooled_counts, activity), neurons

    def _weights_in_use(self) -> Tuple[Any, Optional[Any]]:
        """Return kernel and bias as runs read them."""
        bias = None if self._bias is None else tf.convert_to_tensor(self._bias)
        kernel = self._kernel
        if self.deviation is not None:
            kernel = standardised_weights.standardised(kernel, self.deviation)
        return rounded(quantised(kernel, self.quantisation), self.weights_dtype), bias

    def _second_threshold_in_use(self) -> Optional[Any]:
        second = self.second_threshold
        if second is None:
            return None
        return tf.minimum(tf.convert_to_tensor(second), np.float32(self.neurons.threshold))

    def _entering(self, ids: Any, counts: Optional[Any]) -> Tuple[Any, Any]:
        if isinstance(ids, Spikes) and isinstance(ids, BatchFirstSpikes) is self.time_major:
            raise ValueError(
                f"{self.name} and the layer before it must have the same time_major: one has the "
                "time first, the other the batch"
            )
        if counts is None:
            if not isinstance(ids, (tuple, list)) or len(ids) != 2:
                raise ValueError(
                    "spikes must be ids and counts: ipulse_ops.sparse.dense_to_sparse converts "
                    "dense ones"
                )
            ids, counts = ids
        return (ids, counts) if self.time_major else (_swapped(ids), _swapped(counts))


def _swapped(tensor: Any) -> Any:
    """Exchange the time axis and the batch axis."""
    tensor = tf.convert_to_tensor(tensor)
    return tf.transpose(tensor, [1, 0, *range(2, tensor.shape.rank)])
