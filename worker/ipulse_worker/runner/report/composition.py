"""The layers of the network, their settings and measured activity, and the memory of the run."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Sequence

import numpy as np

from ipulse_core.equations.loss import result_of
from ipulse_core.numbers import plain_number
from ipulse_core.spec.conv_layers import conv_geometries, is_conv, senders_to_dense
from ipulse_core.spec.custom_ops import is_op
from ipulse_core.spec.derived_values import spiking_layers
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_names import shown_names
from ipulse_core.spec.layer_values import equations_in, prediction_of_spec
from ipulse_core.spec.neuron_packages import has_package
from ipulse_core.spec.part_layers import has_equations, is_part, is_recurrent
from ipulse_worker.runner.model.arrays_in_use import is_standardised, rule_of
from ipulse_worker.runner.model.weight_names import spiking_names
from ipulse_worker.runner.report.quantities import count, percent
from ipulse_worker.runner.report.tables import ReportTable
from ipulse_worker.runner.results.results import Results

NONE = "–"
HEADS = [
    "layer",
    "neurons",
    "weights",
    "decay",
    "threshold",
    "second threshold",
    "capacity",
    "firing rate",
    "active gradients",
    "dropped spikes",
    "most dropped",
]


def network(results: Results) -> Dict[str, Any]:
    """Return the values of sections/network.html."""
    network = results.spec.network
    layers = [*network.layers, network.readout]
    names = [*shown_names(network).values()]
    rows = [_row(results, at, name, layers[at]) for at, name in enumerate(names)]
    return {
        "weights": sum(weight_count(results, at) for at in range(len(names))),
        "received": [
            sentence
            for name, layer in zip(names, layers)
            for sentence in _received(name, layer, names)
        ],
        "equations": [
            *(found for name, layer in zip(names, layers) for found in _equations(name, layer)),
            *(found for name, layer in zip(names, layers) for found in _package(name, layer)),
            *_loss(results.spec),
        ],
        "memory": results.profile["memory"],
        "table": ReportTable(HEADS, rows),
    }


def _received(name: str, layer: Any, names: Sequence[str]) -> Iterator[str]:
    """Yield how a layer receives other than all spikes of the layer before, by plain weights."""
    place = "The readout" if name == "readout" else name
    residual, dropout = field_of(layer, "residual"), field_of(layer, "dropout")
    if residual:
        added = " and ".join(names[number - 1] for number in residual)
        yield f"{place} also receives the spikes of {added}."
    if is_standardised(layer):
        yield f"{place} has standardised weights."
    if dropout:
        yield f"{place} ignores {percent(dropout, 1)} of its senders in each training sample."
    delay = layer.delay
    if delay:
        yield f"{place} receives spikes {delay:,} {'step' if delay == 1 else 'steps'} later."
    delays = field_of(layer, "delays")
    if delays is not None:
        what = "synapse has its own delay"
        if delays.per == "neuron":
            what = "sender has its own, trained delay"
        unit = " steps, rounded to whole steps" if delays.rounded else " steps"
        yield f"{place}: each {what}, 0 to {delays.longest:,}{unit}."


def _equations(name: str, layer: Any) -> Iterator[Dict[str, Any]]:
    """Yield the equations of a layer that has some: a sentence, and their lines."""
    if not has_equations(layer):
        return
    neuron = layer.neuron
    lines = [f"{each.name} <- {each.update}" for each in neuron.states if each.update is not None]
    lines.append(f"spike where {neuron.spike} > 0")
    gate = layer.gate
    if gate is not None:
        lines.append(f"gradient of the spike where {neuron.spike} > {plain_number(gate)}")
    lines += [f"{each.name} <- {each.reset}" for each in neuron.states if each.reset is not None]
    for each in neuron.parameters:
        per = "filter" if each.per == "neuron" and is_conv(layer) else each.per
        trained = f", trained per {per}" if each.trainable else ""
        lines.append(f"{each.name} = {_constant(each.value)}{trained}")
    yield {"title": f"{name} has neurons {neuron.name}, by their equations:", "lines": lines}


def _package(name: str, layer: Any) -> Iterator[Dict[str, Any]]:
    """Yield the package of a layer's neurons, if it has one, as `_equations` does."""
    if not has_package(layer):
        return
    lines = []
    for each in layer.neuron.parameters:
        value = "the default" if each.value is None else _constant(each.value)
        trained = f", trained per {each.per}" if each.trainable else ""
        lines.append(f"{each.name} = {value}{trained}")
    title = f"{name} has neurons of the package {layer.neuron.package}."
    if lines:
        title = f"{title[:-1]}, with these parameters:"
    yield {"title": title, "lines": lines}


def _loss(spec: Any) -> Iterator[Dict[str, Any]]:
    """Yield the equations of loss and regularisers, if they have some, as `_equations` does."""
    for _, own in equations_in(spec.training):
        result, text = result_of(own)
        lines = [f"{each.name} = {plain_number(each.value)}" for each in own.parameters]
        lines += [f"{each.name} = {each.value}" for each in own.values]
        lines.append(f"{result} = {text}")
        title = f"The {result} is {own.name}, by its equations:"
        if result == "loss":
            lines.append(f"prediction = {own.prediction or prediction_of_spec(spec)}")
        else:
            title = f"A {result} is {own.name}, times {plain_number(own.strength)}:"
        yield {"title": title, "lines": lines}


def _row(results: Results, at: int, name: str, layer: Any) -> List[str]:
    metrics = results.evaluation.metrics
    row = [
        name,
        f"{results.sizes[at + 1]:,}",
        _weights(results, at, layer),
        NONE if is_part(layer) else _constant(layer.decay),
    ]
    if at >= len(spiking_names(results.spec)):
        return [*row, *[NONE] * (len(HEADS) - len(row))]
    capacity, second = results.limits.capacities[at], results.limits.second_thresholds[at]
    return [
        *row,
        NONE if is_part(layer) else _constant(layer.threshold),
        "none" if second is None else _constant(second),
        "all" if capacity is None else f"{capacity:,}",
        percent(metrics.firing_rates[at], 2),
        percent(metrics.active_gradient_fractions[at], 1),
        count(results.dropped_in_training[at]),
        f"{results.evaluation.dropped_by_step[at].max():.2f}",
    ]


def _weights(results: Results, at: int, layer: Any) -> str:
    rule = rule_of(layer)
    number = f"{weight_count(results, at):,}"
    return number if rule is None else f"{number} int{rule.bits}"


def weight_count(results: Results, at: int) -> int:
    """Return the number of weights of a layer, including recurrent ones."""
    spec = results.spec
    geometries = conv_geometries(spec)
    if is_op([*spec.network.layers, spec.network.readout][at]):
        return results.op_weights.get(at, 0)
    if at < len(geometries):
        own = geometries[at].recurrent.weights if is_recurrent(spec.network.layers[at]) else (0,)
        return int(np.prod(geometries[at].weights) + np.prod(own))
    before, neurons = results.sizes[at : at + 2]
    if at == len(geometries):
        before = senders_to_dense(spec)
    layers = spiking_layers(spec.network)
    recurrent = neurons if at < len(layers) and field_of(layers[at], "recurrent") else 0
    return (before + recurrent) * neurons


def _constant(value: Any) -> str:
    """Format one number, or the range of one number per neuron."""
    least, most = np.min(value), np.max(value)
    if least == most:
        return plain_number(float(least))
    return f"{plain_number(float(least))} to {plain_number(float(most))}"
