"""Networks of one neuron and of every variant, and their runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from ipulse_ops.lif.connection_delays import ConnectionDelays
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference.network_pass import forward
from ipulse_ops.lif.reference.trace import LayerTrace, Trace
from ipulse_ops.surrogate import SuperSpike
from tests.ops.strategies import Problem, random_problem

# Reset, its time, and its gradient. Without a reset there is no gradient of it,
# and nothing is held constant.
RESETS = (
    *product(("zero", "subtract"), ("state", "emission"), [("mask", "term", "none")]),
    ("none", "state", ("mask",)),
)


def run(problem: Problem) -> Trace:
    arguments = (problem.network, problem.weights, problem.ids, problem.counts)
    return forward(*arguments, seed=problem.seed, dropout_seed=problem.seed)


def one_neuron(delay: int = 0) -> Tuple[Network, List[np.ndarray]]:
    """decay 1/2 and gain 2, so that a current enters the membrane as it is."""
    network = Network(
        inputs=1,
        layers=(LIF(neurons=1, decay=0.5, threshold=1.0, gain=2.0),),
        readout=LeakyReadout(neurons=1, decay=0.5, gain=2.0),
        delay=delay,
    )
    return network, [np.array([[0.75]]), np.array([[1.0]])]


def varied(
    layers: int,
    gate: bool = True,
    spiking_readout: bool = False,
    fields: Optional[Dict[str, Any]] = None,
    **network: Any,
) -> Network:
    """Every neuron with its own constants. fields: of every layer, as far as it has them."""
    rng = np.random.Generator(np.random.PCG64(layers))
    fields = dict(fields or {})
    synapse, adapts = fields.pop("synapse", False), fields.pop("adapts", False)
    detaches = fields.pop("detaches", False)

    def integrator(neurons: int) -> Dict[str, Any]:
        decay, gain = rng.uniform(0, 0.97, neurons), rng.uniform(1, 10, neurons)
        decay[-1], gain[-1] = 1.0, 0.7  # integrates and fires
        return {
            "neurons": neurons,
            "decay": decay,
            "gain": gain,
            "bias": fields.get("bias", False),
            "synapse_decay": rng.uniform(0, 0.6, neurons) if synapse else None,
        }

    def spiking(neurons: int) -> LIF:
        adaptation = {}
        if adapts:
            adaptation = {
                "adaptation_strength": rng.uniform(0.05, 0.6, neurons),
                "adaptation_decay": rng.uniform(0, 0.97, neurons),
                "detach_adaptation": detaches,
            }
        threshold = rng.uniform(0.5, 1.5, neurons)
        second = 0.6 * threshold if gate else None
        more = {**integrator(neurons), **adaptation, **fields}
        return LIF(threshold=threshold, second_threshold=second, **more)

    return Network(
        inputs=8,
        layers=tuple(spiking(neurons) for neurons in (9, 7, 6)[:layers]),
        readout=spiking(5) if spiking_readout else LeakyReadout(**integrator(3)),
        **{"surrogate": SuperSpike(slope=4.0), **network},
    )


def residual_network(
    spiking_readout: bool, rates: Tuple[float, ...] = (0, 0, 0, 0), **network: Any
) -> Network:
    """Three layers of one width. The third adds the first, the readout the two before."""
    made = varied(1, True, spiking_readout, {"recurrent": True}, **network)
    first = made.layers[0]
    residuals = ((), (), (0,), (1, 0))
    fields = [{"residual": r, "dropout": rate} for r, rate in zip(residuals, rates)]
    layers = tuple(replace(first, **more) for more in fields[:3])
    return replace(made, layers=layers, readout=replace(made.readout, **fields[3]))


def delayed_network(per: str, spiking_readout: bool, rate: float = 0.0, **network: Any) -> Network:
    """Two layers and the readout with delays of all connections; the readout adds layer 1."""
    made = varied(2, True, spiking_readout, {"recurrent": True, "bias": True}, **network)
    delays = ConnectionDelays(3, per)
    layers = tuple(
        replace(layer, neurons=9, delays=delays, dropout=rate)
        for layer in (made.layers[0], made.layers[0])
    )
    readout = replace(made.readout, delays=delays, dropout=rate, residual=(0,))
    return replace(made, layers=layers, readout=readout)


def rises(layer: LIF, trace: LayerTrace) -> np.ndarray:
    """Return the rise of the thresholds, `[time, batch, neurons]`."""
    found = np.zeros(trace.u.shape)
    if layer.adaptation_strength is not None and layer.adaptation_decay is not None:
        b = np.zeros(trace.u.shape[1:])
        for t, reset in enumerate(trace.reset):
            found[t] = layer.adaptation_strength * b
            b = layer.adaptation_decay * b + reset
    return found


def with_gradient_only(problem: Problem) -> Problem:
    """The same spikes, and behind some of them neurons that only carry gradient: counts
    `[time, batch, 2]`."""
    rng = np.random.Generator(np.random.PCG64([problem.seed, 3]))
    spikes, ids = problem.counts, problem.ids
    filled = rng.integers(spikes, ids.shape[2] + 1)
    others = rng.integers(0, problem.network.inputs, ids.shape)
    ids = np.where(np.arange(ids.shape[2]) < spikes[..., None], ids, others)
    counts = np.stack([spikes, filled], axis=-1)
    return replace(problem, ids=ids.astype(np.int32), counts=counts.astype(np.int32))


def eventful(network: Network, drops: bool, steps: int = 6) -> Tuple[Problem, Trace]:
    """The first seed's problem in which every layer spikes, and drops spikes if it should."""
    for seed in range(1, 100):  # a seed of 0 would hide one that is not passed on
        problem = random_problem(network, seed, steps=steps, batch=2)
        trace = run(problem)
        spikes = all(layer.spike_counts[..., 0].any() for layer in trace.layers)
        if spikes and (not drops or any(layer.dropped.any() for layer in trace.layers)):
            return problem, trace
    raise AssertionError(f"no seed makes an eventful problem of {network}")


def assert_equal(left: Trace, right: Trace, part: Callable[[np.ndarray], np.ndarray]) -> None:
    """Every array of `left` is that part of `right`'s."""
    assert np.array_equal(left.membrane, part(right.membrane))
    for ours, theirs in zip(left.layers, right.layers):
        for name in LayerTrace.__dataclass_fields__:
            one, two = getattr(ours, name), part(getattr(theirs, name))
            if name == "surrogate":
                # NumPy's exp may round by an entry's place in its array.
                np.testing.assert_allclose(one, two, rtol=1e-15)
            else:
                assert np.array_equal(one, two), name
