"""The layers of a spec that have equations, and its loss and penalties made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy as np
import tensorflow as tf

from ipulse_core.equations.loss import FIRST_SPIKE, MEMBRANE, SPIKE_COUNT, SPIKES, LayerValue
from ipulse_core.equations.neuron import read_neuron, with_membrane
from ipulse_core.spec.composed_layers import is_composed_convolution
from ipulse_core.spec.conv_layers import (
    conv_geometries,
    hidden_sizes,
    is_conv,
    scale_before,
    senders_of,
)
from ipulse_core.spec.derived_values import class_count
from ipulse_core.spec.layer_values import equations_of_spec, reads_membrane
from ipulse_core.spec.part_layers import has_equations, is_recurrent
from ipulse_core.spec.training_equations import needs_equations, training_equations
from ipulse_ops.conv.initialisation import listed
from ipulse_ops.conv.reference import pooled
from ipulse_ops.equations.initialisation import balanced_layer
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.equations.loss import LossEvaluator
from ipulse_ops.equations.loss_op import loss_with_equations
from ipulse_ops.equations.poplar_loss_source import LossVertex, loss_vertex
from ipulse_ops.keras import LIFOutputs
from ipulse_ops.keras.convolutions.composed_of_spec import neurons_of_spec
from ipulse_ops.reference.spikes import dense_to_sparse
from ipulse_ops.training.spike_totals import spike_totals, spike_trains
from ipulse_ops.training.temporal_losses import first_spike_times
from ipulse_worker.runner.model.layers_of_spec import surrogate_of

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def equations_of(spec: ExperimentSpec, index: int) -> LayerEquations:
    """Return the neurons of hidden layer `index`, from 0, which run as equations."""
    layer: Any = spec.network.layers[index]
    if not has_equations(layer):  # LIF neurons of a convolution that runs as two ops
        return neurons_of_spec(spec, index, surrogate_of(spec.network.surrogate))
    neuron = read_neuron(layer.neuron)
    own = conv_geometries(spec)[index].recurrent if is_conv(layer) and is_recurrent(layer) else None
    return LayerEquations(
        neuron=with_membrane(neuron) if reads_membrane(spec, index) else neuron,
        neurons=hidden_sizes(spec)[index],
        surrogate=surrogate_of(spec.network.surrogate),
        truncate=spec.training.truncate_steps,
        recurrent=is_recurrent(layer),
        gate=layer.gate,
        filters=layer.filters if is_conv(layer) else None,
        own=own,
    )


def equations_layers_of(spec: ExperimentSpec) -> List[LayerEquations]:
    """Return the neurons of all hidden layers that run as equations."""
    return [
        equations_of(spec, index)
        for index, layer in enumerate(spec.network.layers)
        if has_equations(layer) or is_composed_convolution(spec, index)
    ]


def balanced_equations(
    spec: ExperimentSpec,
    index: int,
    ids: np.ndarray,
    counts: np.ndarray,
    std: float,
    seed: int,
) -> Tuple[List[np.ndarray], Tuple[np.ndarray, np.ndarray]]:
    """Return initial weights of hidden layer `index`, and what it sends on a sample of its input.

    These are ids and counts, behind the pool of a convolution.

    Raises ValueError if no weights make it active.
    """
    layer = equations_of(spec, index)
    described: Any = spec.network.layers[index]
    geometry = conv_geometries(spec)[index] if is_conv(described) else None
    weights, spikes = balanced_layer(
        layer,
        senders_of(spec)[index],
        ids,
        counts,
        std,
        seed,
        index,
        geometry,
        scale_before(spec, index),
    )
    if described.bias:
        weights.append(np.zeros(layer.filters or layer.neurons, np.float32))
    if geometry is None:
        return weights, dense_to_sparse(spikes)
    planes = spikes.reshape(*spikes.shape[:2], *geometry.size, geometry.filters)
    return weights, listed(pooled(geometry, planes.astype(np.float64)))


def loss_vertex_of(spec: ExperimentSpec) -> Optional[LossVertex]:
    """Return the vertex of loss and regularisers for tiles; None if PopLibs computes the loss."""
    if not needs_equations(spec.training):
        return None
    return loss_vertex(*training_equations(spec), readout=len(spec.network.layers))


class OwnLoss:
    """Computes a loss or penalty of equations from the network's outputs."""

    def __init__(self, spec: ExperimentSpec, described: Any) -> None:
        """Take `described`, the loss or a regulariser of the spec."""
        self._classes, self._step_ms = class_count(spec.data), spec.data.step_ms
        self._neurons = [*hidden_sizes(spec), self._classes]
        equations = equations_of_spec(spec, described)
        self._evaluator = LossEvaluator(equations, self._classes, spec.data.steps)

    def evaluate(self, out: LIFOutputs, right: tf.Tensor) -> Tuple[tf.Tensor, tf.Tensor]:
        """Return losses and predictions; both and `right` are described in Objective."""
        reads = self._evaluator.equations.reads
        found: Dict[str, Any] = {}
        if MEMBRANE in reads:
            found[MEMBRANE] = out.membrane
        if SPIKE_COUNT in reads:
            found[SPIKE_COUNT] = spike_totals(*self._spikes(out), self._classes)
        if FIRST_SPIKE in reads:
            times = first_spike_times(*self._spikes(out), self._classes)
            found[FIRST_SPIKE] = times * tf.constant(self._step_ms, tf.float32)
        for _, value in self._evaluator.equations.layers:
            found[value.key] = self._of_layer(out, value)
        return loss_with_equations(self._evaluator, found, right)

    def _of_layer(self, out: LIFOutputs, value: LayerValue) -> tf.Tensor:
        """Return what is read of a layer, float32 `[time, batch, neurons]`."""
        at = value.layer
        if value.what == SPIKES:
            return spike_trains(out.spike_ids[at], out.spike_counts[at], self._neurons[at])
        return out.membrane if value.is_readout else out.membranes[at]

    def _spikes(self, out: LIFOutputs) -> Tuple[tf.Tensor, tf.Tensor]:
        return out.spike_ids[-1], out.spike_counts[-1]
