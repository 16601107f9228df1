"""The work of a training, from the sizes in its spec; its unit means nothing by itself.

A step of time of a sample costs an addition for each connection, and a few for each neuron. What it
costs on a device is measured on trainings of other sizes; see `durations`.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

from ipulse.spec import AnySpec, ExperimentSpec, parse_spec
from ipulse.spec.sizes import layer_sizes, weight_count
from ipulse_core import strict_json
from ipulse_core.errors import InvalidSpec
from ipulse_core.spec.conv_layers import kernel_geometries

PER_NEURON = 8  # connections that cost as much as the rest of a neuron's step
# Samples of data whose number no spec says: those of training and of test.
SAMPLES = {
    "digits": 1_797,
    "yin_yang": 6_000,
    "shd": 10_420,
    "ssc": 95_844,
    "n_mnist": 70_000,
    "dvs_gesture": 1_341,
}


def work_of(spec: AnySpec) -> float | None:
    """Returns the work of a training, None for programs and for data whose size is not known."""
    if not isinstance(spec, ExperimentSpec):
        return None
    samples = _samples(spec)
    steps = getattr(spec.data, "steps", None)
    if not samples or not steps or 0 in layer_sizes(spec):
        return None
    connections = float(weight_count(spec))
    for geometry in kernel_geometries(spec):  # each weight is used at every site
        sites = geometry.size[0] * geometry.size[1]
        connections += prod(geometry.weights) * (sites - 1)
    connections += PER_NEURON * sum(layer_sizes(spec)[1:])
    return float(spec.training.epochs * samples * steps) * connections


@lru_cache(256)  # specs of the latest jobs, which each plan reads
def work_of_text(text: str) -> float | None:
    """Returns the work of a stored spec, None for one that this version cannot read."""
    try:
        return work_of(parse_spec(strict_json.loads(text)))
    except InvalidSpec:
        return None


def _samples(spec: ExperimentSpec) -> int | None:
    given = getattr(spec.data, "samples", None)
    if given:
        return int(given)
    each = getattr(spec.data, "samples_per_class", None)
    classes = getattr(spec.data, "classes", None)
    if each and classes:
        return int(each * classes)
    return SAMPLES.get(spec.data.kind)
