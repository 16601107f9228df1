"""Predicts, before anything is compiled, the cycles of a training step on tiles.

The arguments are `ipulse.spec.ExperimentSpec` and its parts, or the document that the runner reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple

from ipulse_core.prediction.network_on_tiles import network_on_tiles, why_no_memory
from ipulse_core.pva.band import Band, band_of
from ipulse_core.spec.derived_values import spiking_layers
from ipulse_core.spec.host_links import host_link
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_names import layer_name
from ipulse_core.spec.layer_values import equations_in, values_read
from ipulse_core.spec.single_layers import has_several_programs
from ipulse_core.spec.tile_cycles import ERROR, Activity, CyclesPrediction, predict_cycles
from ipulse_core.spec.tile_placement import TileLayer, TileNetwork

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
    activity: Tuple[Activity, ...]  # of the input, and then of each layer that spikes
    names: Tuple[str, ...]  # of the layers
    basis: str  # "assumed" or "last_run"

    @property
    def band(self) -> Band:
        """The band in which the cycles of an IPU are expected, if the activity is so."""
        return band_of(self.prediction.total, ERROR)

    def to_json(self) -> Dict[str, Any]:
        """Return the prediction as the HTTP API shows it."""
        found = self.prediction
        spiking = [
            {"name": name, "spikes": round(each.spikes, 2), "filled": round(each.filled, 2)}
            for name, each in zip(self.names, self.activity[1:])
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
                for name, each in zip((*self.names, None), found.layers)
            ],
            **{
                kind: round(getattr(found, kind))
                for kind in ("compute", "exchange", "sync", "host")
            },
        }


def step_cycles(
    spec: Any,
    rates: Optional[Mapping[str, Rates]] = None,
    input_spikes: Optional[float] = None,
) -> Optional[StepCycles]:
    """Return the prediction for a spec; None for a CPU and for what is not predicted.

    Args:
        spec: of a training.
        rates: of the last run of the same network on the same data, by the layer as in metrics:
            its number from 1, or "readout". Without them, an activity is assumed.
        input_spikes: that come in, of a sample and step; None: ASSUMED of the channels.
    """
    device = spec.device
    network = network_on_tiles(spec)
    if network is None or why_no_cycles(spec) is not None:
        return None
    slots = min(max(1, round(_SLOTS * network.inputs)), network.input_slots)
    network = network._replace(input_slots=slots)
    if device.kind == "ipu":  # TensorFlow's loss and update, on the device as well
        network = network._replace(trains=True)
    activity = _activity_of(spec, network, rates, input_spikes)
    try:
        prediction = _predict(network, activity, host_link(device))
    except ValueError:  # TOO_FEW_TILES: the compiler says what to do
        return None
    layers = (*spec.network.layers, spec.network.readout)
    hidden = len(spec.network.layers)
    names = tuple(layer_name(n, hidden, field_of(layer, "name")) for n, layer in enumerate(layers))
    return StepCycles(prediction, activity, names, "last_run" if rates else "assumed")


def why_no_cycles(spec: Any) -> Optional[str]:
    """Return why the cycles on tiles are not predicted; None if they are, and on a CPU.

    `spec` may be that of a program or script, too.
    """
    if spec.device.kind == "cpu":
        return None
    return why_no_memory(spec) or next(_reasons(spec), None)


def _activity_of(
    spec: Any,
    network: TileNetwork,
    rates: Optional[Mapping[str, Rates]],
    input_spikes: Optional[float],
) -> Tuple[Activity, ...]:
    """Return the activity of the input and of each layer that spikes."""
    spikes = max(1.0, ASSUMED * network.inputs) if input_spikes is None else input_spikes
    spikes = min(spikes, network.input_slots)
    found = [Activity(spikes, spikes)]
    hidden = len(spec.network.layers)
    for number in range(len(spiking_layers(spec.network))):
        key = str(number + 1) if number < hidden else "readout"
        found.append(_of_layer(network.layers[number], (rates or {}).get(key)))
    return tuple(found)


def _of_layer(layer: TileLayer, rates: Optional[Rates]) -> Activity:
    if rates is not None:
        spikes = min(rates.spikes * layer.neurons, layer.slots)
        return Activity(spikes, min(rates.gradients * layer.neurons, layer.slots))
    wanted = ASSUMED * layer.neurons
    spikes = min(wanted, layer.slots)
    share = ASSUMED_GRADIENTS if layer.gated else 1.0
    return Activity(spikes, min(share * layer.neurons, layer.slots), wanted - spikes)


def _reasons(spec: Any) -> Iterator[str]:
    """Yields what the predictor of cycles does not know."""
    network, device, training = spec.network, spec.device, spec.training
    rounds = field_of(device, "stochastic_rounding")
    if has_several_programs(network):
        yield "the network is several programs on tiles"
    if network.trainable:
        yield "constants of neurons are trained"
    if rounds and field_of(device, "states_dtype") != "float32":
        yield "states are rounded at random"
    if training.regularisers:
        yield "there are regularisers"
    if any(values_read(network, each) for _, each in equations_in(training)):
        yield "the loss reads layers"
    if any(field_of(layer, "policy") == "top" for layer in spiking_layers(network)):
        yield "the policy is top"
    if device.ipus > 1:
        yield "it is on several IPUs"
    if device.memory == "recompute":
        yield "states are computed again"
