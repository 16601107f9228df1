"""Counts synaptic operations from the spikes that an evaluation lists, as integers.

A spike costs one operation for each synapse that it reaches: the sender's fan-out. Spikes of the
last steps that a delay keeps from arriving cost nothing, and dropped spikes are in no list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from ipulse_core.energy import HOROWITZ, LOIHI
from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_core.spec.conv_layers import conv_geometries, hidden_sizes
from ipulse_core.spec.custom_ops import is_op
from ipulse_core.spec.derived_values import class_count, input_channels, input_delays
from ipulse_core.spec.fan_out import taps
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_names import shown_names
from ipulse_core.spec.part_layers import is_recurrent
from ipulse_core.spec.start_weights import layer_names

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


@dataclass
class Connection:
    """All synapses from one sender, the input or a spiking layer, to one layer."""

    sender: int  # 0: the input; n: spiking layer n
    receiver: int  # index of the layer from 0; behind the hidden layers the readout
    matrix: str  # the name of its weights
    delay: int  # steps until a spike arrives
    fan_out: np.ndarray  # int64 [sites]: synapses of each site that sends
    geometry: Optional[ConvGeometry]  # of the receiver, if it is a convolution
    arrived: np.ndarray = field(init=False)  # int64 [sites]: spikes, of all samples
    values: np.ndarray = field(init=False)  # int64 [sites]: values other than 0, of all samples
    by_step: np.ndarray = field(init=False)  # int64 [time]: operations, of all samples

    def nonzero(self, weights: np.ndarray) -> np.ndarray:
        """Return the synapses of each site whose weight is not 0, int64 `[sites]`."""
        if self.geometry is None:
            counted: np.ndarray = np.count_nonzero(weights, axis=1)
            return counted.astype(np.int64)
        return conv_fan_out(self.geometry, weights != 0)


def conv_fan_out(geometry: ConvGeometry, counted: np.ndarray) -> np.ndarray:
    """Return how many counted weights a spike of each id meets, int64 `[ids]`.

    counted: bool, in the shape of the kernel.
    """
    entering, groups = geometry.entering, geometry.groups
    of_group = counted.reshape(*counted.shape[:3], groups, -1).sum(-1)  # [kh, kw, C/g, g]
    per_channel = np.moveaxis(of_group, 3, 2).reshape(*geometry.kernel, entering.channels)
    rows = np.array(taps(geometry, 0), np.int64).reshape(entering.height, -1)
    columns = np.array(taps(geometry, 1), np.int64).reshape(entering.width, -1)
    order = "cyx" if entering.channels_first else "yxc"
    found: np.ndarray = np.einsum(f"yk,xl,klc->{order}", rows, columns, per_channel)
    return found.ravel().astype(np.int64)


def uncounted(spec: ExperimentSpec) -> str:
    """Return why the operations of a network are not counted; empty if they are."""
    layers = [*spec.network.layers, spec.network.readout]
    if any(is_op(layer) for layer in layers):
        return "a custom op does not say how many synapses a spike reaches"
    if any(field_of(layer, "delays") is not None for layer in layers):
        return "synapses with delays of their own are not counted"
    return ""


class OperationCounter:
    """Adds up the spikes that arrive at each connection of a network."""

    def __init__(self, spec: ExperimentSpec) -> None:
        self.steps = spec.data.steps
        self.samples = 0
        # The site of each neuron behind a pool, -1 for none; None without a pool.
        self._site_of: Dict[int, np.ndarray] = {
            at: np.array(geometry.site_of, np.int64)
            for at, geometry in enumerate(conv_geometries(spec), start=1)
            if geometry.pool != (1, 1)
        }
        self.connections = list(_connections(spec))
        for each in self.connections:
            each.arrived = np.zeros(len(each.fan_out), np.int64)
            each.values = np.zeros(len(each.fan_out), np.int64)
            each.by_step = np.zeros(self.steps, np.int64)

    def add(self, lists: Sequence[Tuple[np.ndarray, np.ndarray]]) -> None:
        """Add a batch: ids `[time, batch, slots]` and counts `[time, batch]`, input first."""
        self.samples += lists[0][1].shape[1]
        for sender, (ids, counts) in enumerate(lists):
            receivers = [each for each in self.connections if each.sender == sender]
            own = [each for each in receivers if each.receiver == sender - 1]
            others = [each for each in receivers if each.receiver != sender - 1]
            # A layer receives its own spikes in front of its pool.
            for site_of, group in ((self._site_of.get(sender), others), (None, own)):
                if group:
                    self._add(site_of, ids, counts, group)

    def _add(
        self,
        site_of: Optional[np.ndarray],
        ids: np.ndarray,
        counts: np.ndarray,
        receivers: List[Connection],
    ) -> None:
        slots, sites = np.arange(ids.shape[2]), len(receivers[0].fan_out)
        for step in range(self.steps):
            is_filled = slots < counts[step][:, None]
            sent = ids[step][is_filled].astype(np.int64)
            spikes = values = np.bincount(sent, minlength=sites) if site_of is None else None
            if site_of is not None:
                sample = np.broadcast_to(np.arange(len(is_filled))[:, None], is_filled.shape)
                key = site_of[sent] + sites * sample[is_filled]
                key = key[site_of[sent] >= 0]
                spikes = np.bincount(key % sites, minlength=sites)
                values = np.bincount(np.unique(key) % sites, minlength=sites)
            for each in receivers:
                if step + each.delay < self.steps:
                    each.arrived += spikes
                    each.values += values
                    each.by_step[step + each.delay] += int(each.fan_out @ spikes)


def _connections(spec: ExperimentSpec) -> Iterator[Connection]:
    layers, delays = [*spec.network.layers, spec.network.readout], input_delays(spec.network)
    geometries = conv_geometries(spec)
    neurons = [*hidden_sizes(spec), class_count(spec.data)]
    sites = [input_channels(spec.data), *(g.pooled.sites for g in geometries)]
    sites += neurons[len(geometries) :]
    for at, (name, layer) in enumerate(zip(layer_names(spec.network), layers)):
        geometry = geometries[at] if at < len(geometries) else None
        if geometry is None:
            fan_out = np.full(sites[at], neurons[at], np.int64)
        else:
            fan_out = conv_fan_out(geometry, np.ones(geometry.weights, bool))
        delay = delays[at]
        yield Connection(at, at, name, delay, fan_out, geometry)
        for number in field_of(layer, "residual") or ():
            yield Connection(int(number), at, name, delay, fan_out, geometry)
        if is_recurrent(layer):
            convolved = None if geometry is None else geometry.recurrent
            if convolved is None:
                own = np.full(neurons[at], neurons[at], np.int64)
            else:
                own = conv_fan_out(convolved, np.ones(convolved.weights, bool))
            yield Connection(at + 1, at, f"{name}_recurrent", 1, own, convolved)


# Picojoules of HOROWITZ: an addition, and a multiplication with addition.
_FLOAT32, _INT8 = (0.9, 4.6), (0.03, 0.23)


def operations(
    spec: ExperimentSpec,
    counter: Optional[OperationCounter],
    in_use: Mapping[str, np.ndarray],
    footprint_bytes: int,
    spikes_per_sample: float,
    seconds_per_sample: float,
) -> Dict[str, Any]:
    """Return the operations of a profile: means per test sample, and estimates of energy.

    Args:
        spec: the spec.
        counter: the counted spikes; None on a device that does not list them.
        in_use: the arrays of the network as runs read them.
        footprint_bytes: the bytes of weights.npz.
        spikes_per_sample: spikes of all layers.
        seconds_per_sample: measured time of the evaluation.
    """
    neurons = [*hidden_sizes(spec), class_count(spec.data)]
    matrices = set(layer_names(spec.network))
    weights = [a for n, a in in_use.items() if n in matrices or n.endswith("_recurrent")]
    total = sum(array.size for array in weights)
    updates = spec.data.steps * sum(neurons)
    found: Dict[str, Any] = {
        "parameters": int(sum(array.size for array in in_use.values())),
        "footprint_bytes": footprint_bytes,
        "neuron_updates": updates,
        "activation_sparsity": 1 - spikes_per_sample / updates,
        "connection_sparsity": sum(int((a == 0).sum()) for a in weights) / max(total, 1),
        "measured_seconds": seconds_per_sample,
    }
    reason = uncounted(spec) or ("the device lists no spikes" if counter is None else "")
    if reason or counter is None:
        return {**found, "not_counted": reason}
    layers = [
        {
            "layer": key,
            "name": name,
            **_of_layer(counter, at, in_use),
            "neuron_updates": spec.data.steps * n,
        }
        for at, (key, name, n) in enumerate(
            zip(layer_names(spec.network), shown_names(spec.network).values(), neurons)
        )
    ]
    for key in ("dense", "synops", "effective", "total_synops", "total_effective"):
        found[key] = sum(layer[key] for layer in layers)
    return {
        **found,
        "samples": counter.samples,
        "layers": layers,
        "energy": _energy(spec, found),
    }


def _of_layer(
    counter: OperationCounter, at: int, in_use: Mapping[str, np.ndarray]
) -> Dict[str, Any]:
    each = [connection for connection in counter.connections if connection.receiver == at]
    synops = sum(int(one.fan_out @ one.arrived) for one in each)
    effective = sum(int(one.nonzero(in_use[one.matrix]) @ one.values) for one in each)
    by_step = np.sum([one.by_step for one in each], axis=0)
    return {
        "dense": counter.steps * sum(int(one.fan_out.sum()) for one in each),
        "synops": synops / counter.samples,
        "effective": effective / counter.samples,
        "total_synops": synops,
        "total_effective": effective,
        "synops_by_step": (by_step / counter.samples).tolist(),
    }


def _energy(spec: ExperimentSpec, found: Mapping[str, Any]) -> List[Dict[str, Any]]:
    layers = [*spec.network.layers, spec.network.readout]
    rules = [field_of(layer, "quantisation") for layer in layers]
    is_int8 = all(rule is not None and rule.bits <= 8 for rule in rules)
    add, multiply = _INT8 if is_int8 else _FLOAT32
    arithmetic = {
        **HOROWITZ,
        "number": "int8" if is_int8 else "float32",
        "nj": found["synops"] * add / 1e3,
        "dense_nj": found["dense"] * multiply / 1e3,
    }
    on_chip = (27.1 * found["synops"] + 81 * found["neuron_updates"]) / 1e3
    return [arithmetic, {**LOIHI, "nj": on_chip}]


def summary_of(found: Mapping[str, Any]) -> Dict[str, float]:
    """Return the figures of a job's summary; the energy is that of the first table."""
    keys = ("parameters", "footprint_bytes", "neuron_updates")
    summary = {key: float(found[key]) for key in keys}
    for key in ("activation_sparsity", "connection_sparsity"):
        summary[key] = found[key]
    if "synops" in found:
        summary["synops"] = found["synops"]
        summary["synops_dense"] = float(found["dense"])
        summary["synops_effective"] = found["effective"]
        summary["energy_nj"] = found["energy"][0]["nj"]
    return summary
