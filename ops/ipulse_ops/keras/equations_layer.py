"""Layers with equations as Keras layers: fully connected ones and convolutions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.conv.spike_conv import by_kernel, spike_conv
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.keras.equations_neurons import EquationsNeurons, NeuronSpikes
from ipulse_ops.keras.single_layer import PooledRun, Spikes
from ipulse_ops.lif.delayed_weights import taps_of
from ipulse_ops.lif.poplar.backends import conv_ops
from ipulse_ops.lif.slot_lists import later
from ipulse_ops.sparse import pooled_spikes, spike_matmul
from ipulse_ops.sparse.delay import delayed_spikes


class EquationsLayer(EquationsNeurons):
    """Neurons with equations behind trained weights: takes spikes and returns Spikes.

    inputs: number of senders.
    bias: True adds a trained current per neuron at every step.

    The other arguments are those of EquationsNeurons.
    """

    def __init__(
        self, inputs: int, layer: LayerEquations, bias: bool = False, *args: Any, **kwargs: Any
    ) -> None:
        biases = layer.neurons if bias else 0
        super().__init__((inputs, layer.neurons), layer, biases, *args, **kwargs)

    def call(self, ids: Any, counts: Any, training: Optional[bool] = None) -> Spikes:
        """Run the layer on spikes, as a LIFLayer."""
        return Spikes(*self.run(ids, counts, training)[:2])

    def run(
        self,
        ids: Any,
        counts: Any,
        training: Optional[bool] = None,
        factor: float = 1.0,
        seed: Optional[Any] = None,
    ) -> NeuronSpikes:
        """Run the layer, without what Keras does around a call."""
        return self.neuron_spikes(ids, counts, training, factor, seed)

    def current(
        self, ids: Any, counts: Any, factor: float = 1.0, training: Optional[bool] = None
    ) -> Any:
        """Return the sums of weights, and the bias."""
        kernel, scale = tf.convert_to_tensor(self.weights_in_use()[0]), self.input_scale * factor
        if scale != 1.0:
            kernel = kernel * np.float32(scale)
        if self.delays is not None:
            kernel, arrivals = taps_of(kernel, self._steps_in_use(training), self.delays)
            ids, counts = delayed_spikes(ids, counts, arrivals)
        current = spike_matmul(kernel, ids, counts)
        return current if self._bias is None else current + tf.convert_to_tensor(self._bias)


class EquationsConvolution(EquationsNeurons):
    """Neurons with equations behind a convolution, and a sum pool of their spikes.

    geometry: sizes of the input, the kernel, the neurons and the pool.
    layer: the equations of all neurons; `filters` are the geometry's.
    bias: True adds a trained current per filter at every step.

    The other arguments are those of EquationsNeurons. A call takes spikes and returns Spikes of
    the pooled sites, as ipulse_ops.sparse.pooled_spikes lists them. With `tiles`, the convolution
    and the pool run on the emulated IPU, too, and the shapes of the spikes must be static.

    Raises ValueError if the equations are of another number of neurons, or recurrent with another
    `own` than the geometry's, or if a convolution in groups has delays of its connections.
    """

    def __init__(
        self,
        geometry: ConvGeometry,
        layer: LayerEquations,
        bias: bool = False,
        threads: int = 1,
        input_scale: float = 1.0,
        tiles: Optional[int] = None,
        **kwargs: Any,
    ) -> None:
        if (layer.neurons, layer.filters) != (geometry.neurons, geometry.filters):
            raise ValueError(
                f"the equations are of {layer.neurons} neurons and {layer.filters} filters, and "
                f"the convolution has {geometry.neurons} and {geometry.filters}: make them with "
                "neurons and filters of the geometry"
            )
        if layer.recurrent and layer.own != geometry.recurrent:
            raise ValueError("the own spikes of a convolution are convolved as geometry.recurrent")
        if kwargs.get("delays") is not None and geometry.groups > 1:
            raise ValueError("a convolution in groups has one delay for its connections")
        biases = geometry.filters if bias else 0
        super().__init__(
            geometry.weights, layer, biases, threads, tiles, input_scale=input_scale, **kwargs
        )
        self.geometry = geometry
        self._sites = np.array(geometry.site_of, np.int32)
        self._on_tiles = None if tiles is None else conv_ops(tiles)

    def call(self, ids: Any, counts: Any, training: Optional[bool] = None) -> Spikes:
        """Run the layer on spikes, as a LIFLayer."""
        return self.run_pooled(ids, counts, training).spikes

    def run_pooled(
        self,
        ids: Any,
        counts: Any,
        training: Optional[bool] = None,
        factor: float = 1.0,
        seed: Optional[Any] = None,
    ) -> PooledRun:
        """Run the layer, and list its neurons and its pooled sites."""
        neurons = self.neuron_spikes(ids, counts, training, factor, seed)
        spikes = Spikes(neurons.ids, neurons.counts)
        if self.geometry.pool != (1, 1):
            spikes = self._pooled(spikes)
        return PooledRun(spikes, *neurons)

    def current(
        self, ids: Any, counts: Any, factor: float = 1.0, training: Optional[bool] = None
    ) -> Any:
        """Return the convolution of the spikes, and the bias."""
        bias = None if self._bias is None else tf.convert_to_tensor(self._bias)
        scale = self.input_scale * factor
        kernel = tf.convert_to_tensor(self.weights_in_use()[0])
        geometry = self.geometry
        if self.delays is not None:
            kernel, ids, counts = self._delayed(kernel, ids, counts, training)
            channels = self.delays.taps * geometry.entering.channels
            planes = replace(geometry.entering, channels=channels)
            geometry = replace(geometry, entering=planes)
        inputs = geometry, kernel, ids, counts, bias
        if self._on_tiles is not None and self.delays is None:  # lists of taps have any length
            return self._on_tiles.spike_conv(*inputs, input_scale=scale)
        return spike_conv(*inputs, input_scale=scale, threads=self.threads)

    def _by_recurrent(
        self, recurrent: Sequence[Any], ids: Any, counts: Any, by_current: Any
    ) -> List[Any]:
        sent = later(ids, 1), later(counts[..., 0], 1)
        own = self.geometry.recurrent
        return [
            by_kernel(own, kernel, *sent, by_current, threads=self.threads) for kernel in recurrent
        ]

    def _delayed(
        self, kernel: Any, ids: Any, counts: Any, training: Optional[bool]
    ) -> Tuple[Any, Any, Any]:
        """Return a kernel of taps, each of which is a channel, and the spikes of these channels."""
        assert self.delays is not None  # noqa: S101 - the caller checked it
        planes, taps, steps = self.geometry.entering, self.delays.taps, self._steps_in_use(training)
        height, width, channels, filters = kernel.shape.as_list()
        of_channels = [channels, height * width * filters]
        if not self.delays.are_trained:
            steps = tf.reshape(tf.transpose(steps, [2, 0, 1, 3]), of_channels)
        matrix = tf.reshape(tf.transpose(kernel, [2, 0, 1, 3]), of_channels)
        taller, arrivals = taps_of(matrix, steps, self.delays)
        taller = tf.reshape(taller, [taps * channels, height, width, filters])
        sender = np.arange(planes.sites)
        pixels = planes.height * planes.width
        channel = sender // pixels if planes.channels_first else sender % channels
        ids, counts = delayed_spikes(ids, counts, tf.gather(arrivals, channel, axis=1))
        if not planes.channels_first:
            tap, sent = (
                tf.cast(ids, tf.int32) // planes.sites,
                tf.cast(ids, tf.int32) % planes.sites,
            )
            moved = sent // channels * (taps * channels) + tap * channels + sent % channels
            ids += tf.stop_gradient(tf.cast(moved, ids.dtype) - ids)
        return tf.transpose(taller, [1, 2, 0, 3]), ids, counts

    def _pooled(self, neurons: Spikes) -> Spikes:
        """Return the pooled sites: on tiles with as many slots as neurons in the pool."""
        if self._on_tiles is None:
            return Spikes(*pooled_spikes(neurons.ids, neurons.counts, self._sites))
        ids, counts = self._on_tiles.pooled_spikes(self.geometry, neurons.ids, neurons.counts)
        return Spikes(ids[..., : self.geometry.pooled_neurons], counts)
