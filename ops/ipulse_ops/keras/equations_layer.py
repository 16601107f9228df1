"""Layers with equations as Keras layers: fully connected ones and convolutions."""

from __future__ import annotations

from functools import partial
from typing import Any, List, Optional

import numpy as np
import tensorflow as tf

from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.conv.spike_conv import spike_conv
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.keras.equations_neurons import EquationsNeurons, NeuronSpikes
from ipulse_ops.keras.single_layer import PooledRun, Spikes
from ipulse_ops.lif.connection_delays import ConnectionDelays, drawn_delays
from ipulse_ops.lif.delayed_weights import taps_of
from ipulse_ops.lif.poplar.backends import conv_ops
from ipulse_ops.sparse import pooled_spikes, spike_matmul
from ipulse_ops.sparse.delay import delayed_spikes


class EquationsLayer(EquationsNeurons):
    """Neurons with equations behind trained weights: takes spikes and returns Spikes.

    inputs: number of senders.
    bias: True adds a trained current per neuron at every step.
    delays: of the connections from the senders; None: their spikes arrive at once.

    The other arguments are those of EquationsNeurons.
    """

    def __init__(
        self,
        inputs: int,
        layer: LayerEquations,
        bias: bool = False,
        *args: Any,
        delays: Optional[ConnectionDelays] = None,
        **kwargs: Any,
    ) -> None:
        biases = layer.neurons if bias else 0
        super().__init__((inputs, layer.neurons), layer, biases, *args, **kwargs)
        self.delays = delays
        self._steps = None
        if delays is not None:
            with tf.name_scope(self.name):
                self._steps = self._delay_variable(inputs, delays)

    @property
    def kernels(self) -> List[Any]:
        """The input and recurrent weights, the bias and the delays, as far as it has them."""
        return super().kernels if self._steps is None else [*super().kernels, self._steps]

    def _delay_variable(self, inputs: int, delays: ConnectionDelays) -> Any:
        drawn = drawn_delays(delays, self.seed, 0, inputs, self.layer.neurons)
        bounds = {"clip_value_min": 0.0, "clip_value_max": float(delays.longest)}
        return self._variable(
            "delays",
            drawn.shape,
            tf.keras.initializers.Constant(drawn),
            trainable=delays.are_trained,
            constraint=partial(tf.clip_by_value, **bounds) if delays.are_trained else None,
        )

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
            steps = tf.convert_to_tensor(self._steps)
            if self.delays.rounded and not training:
                steps = tf.round(steps)
            kernel, arrivals = taps_of(kernel, steps, self.delays)
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

    Raises ValueError if the equations are of another number of neurons, or recurrent.
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
        if layer.recurrent:
            raise ValueError("the neurons of a convolution do not receive their own spikes")
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
        inputs = self.geometry, kernel, ids, counts, bias
        if self._on_tiles is not None:
            return self._on_tiles.spike_conv(*inputs, input_scale=scale)
        return spike_conv(*inputs, input_scale=scale, threads=self.threads)

    def _pooled(self, neurons: Spikes) -> Spikes:
        """Return the pooled sites: on tiles with as many slots as neurons in the pool."""
        if self._on_tiles is None:
            return Spikes(*pooled_spikes(neurons.ids, neurons.counts, self._sites))
        ids, counts = self._on_tiles.pooled_spikes(self.geometry, neurons.ids, neurons.counts)
        return Spikes(ids[..., : self.geometry.pooled_neurons], counts)
