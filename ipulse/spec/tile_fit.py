"""Predicts, before a network is compiled, whether it fits the tiles of its IPUs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from math import prod
from typing import Any, Literal

from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.prediction.network_on_tiles import network_on_tiles
from ipulse_core.spec.composed_layers import composed_sizes
from ipulse_core.spec.conv_layers import conv_geometries, hidden_sizes
from ipulse_core.spec.conv_memory import TileConvolution, predict_convolution, predict_pool
from ipulse_core.spec.equations_memory import TileEquations, predict_equations
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.part_layers import is_recurrent
from ipulse_core.spec.single_layers import has_several_programs, programs_of
from ipulse_core.spec.tile_memory import TILE_BYTES, MemoryPrediction, predict
from ipulse_core.spec.tile_placement import TileNetwork

from .device import EmulatorDevice, IPUDevice
from .experiment import ExperimentSpec

FACTOR = 2  # by which the prediction may be wrong, in either direction
_MK1_BYTES = 262_144

_predict = lru_cache(1024)(predict)  # it may take 0.1 s

Verdict = Literal["fits", "may_not_fit", "cannot_fit"]


class DoesNotFit(InvalidInput):
    """The network cannot fit the memory of the tiles."""

    code = "does_not_fit"


@dataclass(frozen=True)
class TileFit:
    """The predicted memory of the fullest tile; the compiler says how much it is.

    Attributes:
        ipus: IPUs that the network is on.
        tiles_per_ipu: Tiles of each.
        tiles_used: Tiles that have neurons or samples.
        fullest_tile_bytes: The prediction.
        least_bytes: What the fullest tile needs at least, however the network is placed.
        tile_bytes: The memory of a tile.
        input_spikes: The assumed number of spikes of a sample and step that come in.
    """

    ipus: int
    tiles_per_ipu: int
    tiles_used: int
    fullest_tile_bytes: int
    least_bytes: int
    tile_bytes: int
    input_spikes: int

    @property
    def verdict(self) -> Verdict:
        """The answer: it fits, it may not fit, or it cannot fit."""
        if self.least_bytes > self.tile_bytes:
            return "cannot_fit"
        return "fits" if self.fullest_tile_bytes <= self.tile_bytes else "may_not_fit"

    def to_json(self) -> dict[str, Any]:
        """Return the prediction as the command line and the HTTP API show it."""
        answer = {"verdict": self.verdict, "basis": "estimate"}
        return {**answer, "tiles": self.ipus * self.tiles_per_ipu, **asdict(self)}


def tile_fit(spec: ExperimentSpec) -> TileFit | None:
    """Return the prediction for a spec; None for a CPU and for networks that it does not know."""
    network = network_on_tiles(spec)
    if network is None:
        return None
    try:
        programs = _programs(spec, network)
    except ValueError:  # more layers than tiles: the compiler says what to do
        return None
    is_first = isinstance(spec.device, IPUDevice) and spec.device.architecture == "ipu1"
    return TileFit(
        network.ipus,
        network.tiles_per_ipu,
        max(program.tiles_used for program in programs),
        max(program.fullest_bytes for program in programs),
        max(program.least_bytes for program in programs),
        _MK1_BYTES if is_first else TILE_BYTES,
        network.input_slots,
    )


def _programs(spec: ExperimentSpec, network: TileNetwork) -> list[MemoryPrediction]:
    """Return the prediction of each program.

    Raises ValueError if an IPU has fewer tiles than layers.
    """
    found = []
    sent = [network.input_slots]  # slots of the lists of the input and the layers
    geometries = conv_geometries(spec)
    run = (network.steps, network.batch, network.tiles_per_ipu)
    for stretch in programs_of(spec):
        first = len(sent) - 1
        described: Any = (*spec.network.layers, spec.network.readout)[first]
        slots = sent[first]
        if stretch.is_equations:
            slots = network.layers[first].neurons
            states, parameters = len(described.neuron.states), len(described.neuron.parameters)
            sizes = (slots, states, max(1, parameters), _own_weights(spec, first))
            found.append(predict_equations(TileEquations(*sizes, *run)))
        elif stretch.is_conv and is_recurrent(described):
            neurons = geometries[first].neurons
            sizes = (neurons, *composed_sizes(described), _own_weights(spec, first))
            found.append(predict_equations(TileEquations(*sizes, *run)))
        if stretch.is_conv:
            geometry = geometries[first]
            convolution = TileConvolution(geometry, slots, *run)
            if not stretch.is_equations:
                found.append(predict_convolution(convolution))
            if geometry.pool != (1, 1):
                found.append(predict_pool(convolution))
            slots = geometry.pooled_neurons
        if stretch.is_conv or stretch.is_equations:
            sent.append(slots)
            continue
        layers = [network.layers[index] for index in stretch.layers]
        layers += network.layers[-1:] if stretch.has_readout else []
        taps = 1 if described.delays is None else described.delays.taps
        sources = [first, *field_of(described, "residual")]
        part = network._replace(
            inputs=taps * stretch.senders,
            input_slots=taps * sum(sent[source] for source in sources),
            layers=tuple(layers),
        )
        found.append(_predict(part))
        sent += [layer.slots for layer in layers]
    return found


def _own_weights(spec: ExperimentSpec, index: int) -> int:
    """Return the numbers of the recurrent weights of a hidden layer; 0 without these."""
    if not is_recurrent(spec.network.layers[index]):
        return 0
    geometries = conv_geometries(spec)
    if index < len(geometries):
        return prod(geometries[index].recurrent.weights)
    return hidden_sizes(spec)[index] ** 2


def check_fit(spec: ExperimentSpec) -> None:
    """Raise DoesNotFit for a network that fits under no placement."""
    fit = tile_fit(spec)
    if fit is None or fit.verdict != "cannot_fit":
        return
    device = spec.device
    if isinstance(device, (EmulatorDevice, IPUDevice)):
        allowed = dict(device.engine_options).get("debug.allowOutOfMemory", "")
        if str(allowed).lower() in ("true", "1"):  # compiled for its profile
            return
    more = ", or device.memory recompute"
    if not has_several_programs(spec.network):  # else on one IPU
        more = ", device.memory recompute, or more IPUs"
    detail = (
        f"a tile has {fit.tile_bytes:,} bytes, and the fullest needs at least "
        f"{fit.least_bytes:,}: use fewer neurons, a smaller capacity, fewer data.steps, "
        f"a smaller batch_size{more}"
    )
    raise DoesNotFit(
        [Problem("/device", "does_not_fit", detail)], f"the network does not fit: {detail}"
    )


def fit_text(fit: TileFit) -> str:
    """Return a prediction in words."""
    kib = f"{fit.fullest_tile_bytes / 1024:,.0f} of {fit.tile_bytes / 1024:,.0f} KiB"
    words = {
        "fits": "",
        "may_not_fit": ", it may not fit",
        "cannot_fit": ", it cannot fit",
    }[fit.verdict]
    total = fit.ipus * fit.tiles_per_ipu
    return f"fullest tile about {kib}, {fit.tiles_used:,} of {total:,} tiles used (estimate){words}"
