"""Convolutions with the equations of LIF neurons, and runs of them."""

from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np
import tensorflow as tf

from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.lif.conv_layer import ConvLIF
from ipulse_ops.sparse import sparse_to_dense
from tests.equations import lif, neuron_of
from tests.ops.conv.cases import Case


def lif_equations(of: ConvLIF, reset: str = "zero", **trained: bool) -> LayerEquations:
    """The neurons of a convolution as equations."""
    document = lif(reset, gain=of.scale, **trained)
    document["parameters"][0]["value"] = of.decay
    gate = None if of.second_threshold is None else of.second_threshold - of.threshold
    geometry = of.geometry
    neuron = neuron_of(document)
    return LayerEquations(
        neuron, geometry.neurons, of.surrogate, gate=gate, filters=geometry.filters
    )


def weights_of_sites(of: Case) -> np.ndarray:
    """The derivative of a loss by the spikes at each site behind the pool."""
    sites = of.layer.geometry.pooled.sites
    drawn = np.random.RandomState(4).randint(-8, 9, (*of.counts.shape, sites)) / 4
    return drawn.astype(np.float32)


def run_layer(layer: Any, of: Case) -> Tuple[List[np.ndarray], List[np.ndarray]]:
    """Spikes by pooled site and activity; gradients of kernel, bias, input spikes and the rest."""
    layer.set_kernels([of.kernel, of.bias])
    by_site = weights_of_sites(of)
    ids = tf.constant(of.ids, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(ids)
        run = layer.run_pooled(ids, of.counts, True)
        dense = sparse_to_dense(*run.spikes, by_site.shape[-1])
        loss = tf.reduce_sum(dense * by_site)
    own = layer.trainable_variables[len(layer.kernels) :]
    gradients = tape.gradient(loss, [*layer.kernels, ids, *own])
    listed = sparse_to_dense(run.neuron_ids, run.activity, of.layer.geometry.neurons)
    return [dense.numpy(), run.activity.numpy(), listed.numpy()], [g.numpy() for g in gradients]
