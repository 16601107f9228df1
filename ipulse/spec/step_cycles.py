"""Predicts, before anything is compiled, the cycles of a training step on tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from ipulse_core.pva.band import Band, band_of
from ipulse_core.registry.equation_layers import equations_in, values_read
from ipulse_core.registry.layer_paths import layer_name
from ipulse_core.spec.derived_values import spiking_layers
from ipulse_core.spec.host_links import host_link
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.single_layers import has_several_programs
from ipulse_core.spec.tile_cycles import ERROR, Activity, CyclesPrediction, predict_cycles
from ipulse_core.spec.tile_placement import TileLayer, TileNetwork

from .device import EmulatorDevice, IPUDevice
from .experiment import ExperimentSpec
from .tile_fit import network_on_tiles

ASSUMED = 0.05  # share of the neurons, and of the channels, that spike in a step
ASSUMED_GRADIENTS = 0.2  # share of neurons with a gradient where a layer has a second threshold
_SLOTS = 0.3  # share of the channels that spike in the step with most spikes


_predict = lru_cache(256)(predict_cycles)  # it may take 0.3 s, and a page plans at every change


class Rates(NamedTuple):
    """What a layer did in a training: shares of its neurons in a step of a sample."""

    spikes: float
    gradients: float  # neurons with a gradient, those that spike included


@dataclass(frozen=True)
class StepCycles:
    """The predicted cycles of a training step, and the activity that they are predicted for."""

    prediction: CyclesPrediction
    activity: tuple[Activity, ...]  # of the input, and then of each layer that spikes
    names: tuple[str, ...]  # of the layers
    basis: Literal["assumed", "last_run"]

    @property
    def band(self) -> Band:
        """The band in which the cycles of an IPU are expected, if the activity is so."""
        return band_of(self.prediction.total, ERROR)

    def to_json(self) -> dict[str, Any]:
        """Return the prediction as the HTTP API shows it."""
        found = self.prediction
        spiking = [
            {"name": name, "spikes": round(each.spikes, 2), "filled": round(each.filled, 2)}
            for name, each in zip(self.names, self.activity[1:], strict=False)
        ]
        return {
            "cycles": round(found.total),
            "band": self.band.to_json(),
            "basis": "estimate",
            "activity": {
                "basis": self.basis,
                "input_spikes": round(self.activity[0].spikes, 2),
                "layers": spiking,
            },
            "layers": [
                {"name": name, "forward": round(each.forward), "backward": round(each.backward)}
                for name, each in zip((*self.names, None), found.layers, strict=True)
            ],
            **{
                kind: round(getattr(found, kind))
                for kind in ("compute", "exchange", "sync", "host")
            },
        }


def step_cycles(
    spec: ExperimentSpec, rates: Mapping[str, Rates] | None = None
) -> StepCycles | None:
    """Return the prediction for a spec; None for a CPU and for what is not predicted.

    Args:
        spec: of a training.
        rates: of the last run of the same network on the same data, by the layer as in metrics:
            its number from 1, or "readout". Without them, an activity is assumed.
    """
    device = spec.device
    if not isinstance(device, (EmulatorDevice, IPUDevice)) or not _is_known(spec):
        return None
    network = network_on_tiles(spec)
    if network is None or network.ipus > 1 or network.recomputes:
        return None
    slots = min(max(1, round(_SLOTS * network.inputs)), network.input_slots)
    network = network._replace(input_slots=slots)
    if isinstance(device, IPUDevice):  # TensorFlow's loss and update, on the device as well
        network = network._replace(trains=True)
    activity = _activity_of(spec, network, rates)
    try:
        prediction = _predict(network, activity, host_link(device))
    except ValueError:  # more layers than tiles: the compiler says what to do
        return None
    layers = (*spec.network.layers, spec.network.readout)
    hidden = len(spec.network.layers)
    names = tuple(layer_name(n, hidden, layer.name) for n, layer in enumerate(layers))
    return StepCycles(prediction, activity, names, "last_run" if rates else "assumed")


def _activity_of(
    spec: ExperimentSpec, network: TileNetwork, rates: Mapping[str, Rates] | None
) -> tuple[Activity, ...]:
    """Return the activity of the input and of each layer that spikes."""
    spikes = min(max(1.0, ASSUMED * network.inputs), network.input_slots)
    found = [Activity(spikes, spikes)]
    hidden = len(spec.network.layers)
    for number in range(len(spiking_layers(spec.network))):
        key = str(number + 1) if number < hidden else "readout"
        found.append(_of_layer(network.layers[number], (rates or {}).get(key)))
    return tuple(found)


def _of_layer(layer: TileLayer, rates: Rates | None) -> Activity:
    if rates is not None:
        spikes = min(rates.spikes * layer.neurons, layer.slots)
        return Activity(spikes, min(rates.gradients * layer.neurons, layer.slots))
    wanted = ASSUMED * layer.neurons
    spikes = min(wanted, layer.slots)
    share = ASSUMED_GRADIENTS if layer.gated else 1.0
    return Activity(spikes, min(share * layer.neurons, layer.slots), wanted - spikes)


def _is_known(spec: ExperimentSpec) -> bool:
    network, device = spec.network, spec.device
    rounds_states = field_of(device, "states_dtype") != "float32" and field_of(
        device, "stochastic_rounding"
    )
    return not (
        has_several_programs(network)
        or network.trainable
        or rounds_states
        or spec.training.regularisers
        or any(values_read(network, each) for _, each in equations_in(spec.training))
        or any(field_of(layer, "policy") == "top" for layer in spiking_layers(network))
    )
