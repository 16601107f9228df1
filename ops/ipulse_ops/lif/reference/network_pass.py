"""The reference implementation of sparse LIF networks in float64, with their equations.

One step t of a layer, from input spikes to emitted spikes:

    I[t] = W of the input's spikes + R of the own spikes of step t - 1 + bias
    i[t] = synapse_decay i[t - 1] + (1 - synapse_decay) I[t]     I[t] itself without a synapse
    u[t] = decay v[t] + gain (1 - decay) i[t]       v[t] + gain i[t] where decay is 1
    theta[t] = threshold + adaptation_strength b[t]              threshold without adaptation
    a[t] = u[t] > theta[t]                          the neuron spikes
    s[t] = a[t] and it has a slot                   its spike is emitted
    r[t] = a[t], or s[t] if reset_on is "emission"
    v[t + 1] = u[t] (1 - r[t]) | u[t] - theta[t] r[t] | u[t]     reset "zero" | "subtract" | "none"
    b[t + 1] = adaptation_decay b[t] + r[t]

from v = i = s = b = 0 before the first step. u, v and theta are membranes; I and i are currents;
all are without units, and one step is the unit of time. "W of the spikes" sums the row W[j] of
every spike j in the order of the slots: an id listed twice counts twice. Slots hold the spiking
neurons, then those with `second_threshold + adaptation_strength b < u <= theta` (all others if
there is no second threshold), each by ascending id; if the capacity is too small, a policy of
ipulse_ops.reference.select_spikes decides. A layer receives the spikes of its `delay` steps
before. A leaky readout never spikes: r = 0. In training a layer with dropout p has W / (1 - p) in
place of W, of the spikes of the senders that it keeps (ipulse_ops.reference.dropout); only these
receive "W' dL/dI'" below. A layer with `residual` receives the spikes of these layers, too, through
the same W: x = s of the previous layer + s of each of them (Fang et al., 2021, arXiv:2102.04159),
and each of them receives its "W' dL/dI'". A layer with `delays` receives them by the equations of
ipulse_ops.reference.connection_delays instead of its `delay`. The adaptive threshold is that of
Bellec et al., 2020, doi:10.1038/s41467-020-17236-y.

The gradient replaces the derivative of a spike by the surrogate phi(u - theta) in the filled slots
and by 0 elsewhere, for s and for r. With D the derivatives of the reset,

    reset       Du = dv/du    Dr = dv/dr     Dtheta
    zero        1 - r         -u             0
    subtract    1             -theta         -r
    none        1             0              0

where reset_gradient "mask" sets Dr = 0, and "term" also sets Du = 1 and Dtheta = 0, and with
lambda = dL/du, kappa = decay lambda[t + 1] = dL/dv[t + 1], mu[t] = dL/db[t + 1], e = dL/ds,
backwards in time:

    e[t] = dL/ds[t] directly + W' dL/dI'[t + delay'] + R dL/dI[t + 1] + Dr kappa + mu[t]
    lambda[t] = phi[t] e[t] + Du kappa + dL/du[t] directly
    tau[t] = dL/dtheta[t] = Dtheta kappa - phi[t] e[t]
    mu[t - 1] = adaptation_decay mu[t] + adaptation_strength tau[t]
    dL/di[t] = gain (1 - decay) lambda[t] + synapse_decay dL/di[t + 1]
    dL/dI[t] = (1 - synapse_decay) dL/di[t]

where ' is the next layer, detach_adaptation leaves mu out of e, and `truncate` takes what comes
from step t + 1 for 0 where t + 1 is a multiple of it, and, summed over t and samples,

    dL/dW[j] = dL/dI[t] where the input spikes at j     dL/dbias = dL/dI[t]
    dL/dR[j] = dL/dI[t] where the layer spiked at j one step before
    dL/ddecay = lambda[t] (v[t] - gain i[t])        lambda[t] v[t] where decay is 1
    dL/dthreshold = tau[t]
    dL/dsynapse_decay = dL/di[t] (i[t - 1] - I[t])
    dL/dadaptation_strength = tau[t] b[t]           dL/dadaptation_decay = mu[t] b[t]
"""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

import numpy as np

from ipulse_ops.lif.network import LeakyReadout, Network
from ipulse_ops.lif.reference.adjoint import Adjoint, layer_adjoint
from ipulse_ops.lif.reference.delay import earlier, later
from ipulse_ops.lif.reference.dynamics import Slots, run_layer, run_readout
from ipulse_ops.lif.reference.senders import Senders, delayed_connections, senders_in_training
from ipulse_ops.lif.reference.trace import Gradients, LayerTrace, Trace
from ipulse_ops.lif.weights import LayerWeights, by_layer, flat
from ipulse_ops.reference.select_spikes import filled
from ipulse_ops.reference.spike_matmul import both_counts
from ipulse_ops.reference.spikes import added_spikes, check_shape


def forward(
    network: Network,
    weights: Sequence[np.ndarray],
    ids: np.ndarray,
    counts: np.ndarray,
    replay: Optional[Sequence[Slots]] = None,
    seed: int = 0,
    dropout_seed: Optional[int] = None,
) -> Trace:
    """Run the network from rest on the input spikes ids `[time, batch, slots]`.

    weights: the arrays of ipulse_ops.lif.weights.weight_shapes; without recurrence and biases one
        `[N_in, N_out]` per layer and one for the readout.
    counts: `[time, batch]`; or `[time, batch, 2]`, spikes and filled slots of another network's
        layer: `backward` then returns a gradient for its gradient-only neurons, too.
    replay: per spiking layer the `(spike_ids, spike_counts)` of another run, such as a kernel's.
        They determine which neurons spike and have slots, so that a membrane that rounds to the
        other side of a threshold does not separate the two runs. Only for a neuron that may have
        been dropped (spikes fill all slots, and it is later in the policy's order) does its own
        membrane decide; with reset_on "emission" it is only counted.
    seed: seed of the policy "cyclic", which draws for every step, layer and sample.
    dropout_seed: seed of the layers' dropout, in training; None receives every spike.

    Raises ValueError if shapes, dtypes or ids do not fit the network.
    """
    layers = by_layer(network, weights)
    counts, _ = both_counts(ids, counts, network.inputs)
    senders = senders_in_training(network, counts.shape[1], dropout_seed)
    if replay is not None and len(replay) != len(network.spiking):
        raise ValueError(f"replay must have {len(network.spiking)} layers; got {len(replay)}")
    traces: List[LayerTrace] = []
    sent: List[Slots] = [(ids, counts)]  # of the input and the layers
    for number in range(len(network.spiking)):
        slots = None if replay is None else replay[number]
        arrays, entering = _entering(network, number, layers[number], sent, senders[number])
        traces.append(run_layer(network, number, arrays, *entering, slots, seed))
        sent.append((traces[-1].spike_ids, traces[-1].spike_counts[..., 0]))
    if isinstance(network.readout, LeakyReadout):
        last = len(network.layers)
        arrays, entering = _entering(network, last, layers[-1], sent, senders[-1])
        membrane = run_readout(network.readout, arrays, *entering)
    else:
        membrane = traces[-1].u
    return Trace(membrane=membrane, layers=tuple(traces))


def backward(
    network: Network,
    weights: Sequence[np.ndarray],
    ids: np.ndarray,
    counts: np.ndarray,
    trace: Trace,
    grad_membrane: np.ndarray,
    grad_spikes: Optional[Sequence[Optional[np.ndarray]]] = None,
    grad_u: Optional[Sequence[Optional[np.ndarray]]] = None,
    dropout_seed: Optional[int] = None,
) -> Gradients:
    """Return a loss's gradients of the weights, the constants and the input spikes.

    trace: the result of `forward` with the same arguments; parts of it may come from another back
        end (see `LayerTrace`).
    grad_membrane: `[time, batch, classes]`, the loss's derivative with respect to the readout's
        membrane.
    grad_spikes: per spiking layer `[time, batch, slots]`, the direct part of dL/ds of the neuron in
        each slot; entries after the last filled slot are ignored. None for 0, for all layers or
        one.
    grad_u: per hidden layer `[time, batch, neurons]`, the direct part of dL/du. None for 0, for all
        layers or one.
    dropout_seed: that of `forward`.

    Raises ValueError if shapes, dtypes or ids do not fit the network.
    """
    layers = by_layer(network, weights)
    counts, in_use = both_counts(ids, counts, network.inputs)
    check_shape("grad_membrane", grad_membrane, trace.membrane.shape)
    by_slots = _of_each("grad_spikes", grad_spikes, len(network.spiking))
    by_u = [*_of_each("grad_u", grad_u, len(network.layers)), grad_membrane]

    sent = [(ids, counts), *((run.spike_ids, run.spike_counts[..., 0]) for run in trace.layers)]
    senders = senders_in_training(network, counts.shape[1], dropout_seed)
    found: List[Adjoint] = []
    # dL/ds of the input and the layers through the layers behind them.
    arriving = [np.zeros((*counts.shape, neurons)) for neurons in network.sizes]
    for number in reversed(range(len(layers))):
        spiking = number < len(network.spiking)
        arrays, received = _entering(network, number, layers[number], sent, senders[number])
        adjoint = layer_adjoint(
            network,
            number,
            arrays,
            received,
            trace.layers[number] if spiking else trace.membrane,
            arriving[number + 1],
            by_slots[number] if spiking else None,
            by_u[number],
        )
        by_senders = adjoint.current @ arrays.input.T
        layer = (*network.layers, network.readout)[number]
        connections = delayed_connections(layer, senders[number].scaled(layers[number]))
        if connections is not None:
            adjoint = adjoint._replace(weights=connections.gradient(adjoint.weights))
            by_senders = connections.by_senders(by_senders)
        adjoint = adjoint._replace(weights=senders[number].unscaled(adjoint.weights))
        found.insert(0, adjoint)
        by_senders = senders[number].masked(by_senders)
        by_senders = earlier(by_senders, network.delays[number])
        for source in network.senders(number):
            arriving[source + 1] += by_senders
    used = filled(ids, in_use)
    grad_inputs = np.take_along_axis(arriving[0], np.where(used, ids, 0).astype(np.int64), axis=2)
    return Gradients(
        weights=flat([adjoint.weights for adjoint in found]),
        inputs=np.where(used, grad_inputs, 0),
        constants=tuple(adjoint.constants for adjoint in found),
    )


def _entering(
    network: Network,
    number: int,
    weights: LayerWeights,
    sent: Sequence[Slots],
    senders: Senders,
) -> Tuple[LayerWeights, Slots]:
    """Return the weights in use of layer `number`, and the spikes that they multiply."""
    arrays, entering = senders.received(weights, _added(network, number, sent))
    layer = (*network.layers, network.readout)[number]
    connections = delayed_connections(layer, arrays)
    return (arrays, entering) if connections is None else connections.received(entering)


def _added(network: Network, number: int, sent: Sequence[Slots]) -> Slots:
    """Return the spikes that layer `number` receives: those of its senders, in order, delayed."""
    slots = [sent[source + 1] for source in network.senders(number)]
    ids, counts = slots[0] if len(slots) == 1 else added_spikes(slots)
    delay = network.delays[number]
    return later(ids, delay), later(counts, delay)


def _of_each(
    name: str, arrays: Optional[Sequence[Optional[np.ndarray]]], layers: int
) -> Sequence[Optional[np.ndarray]]:
    if arrays is None:
        return [None] * layers
    if len(arrays) != layers:
        raise ValueError(f"{name} must have {layers} layers; got {len(arrays)}")
    return arrays
