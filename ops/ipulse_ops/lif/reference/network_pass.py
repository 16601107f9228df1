"""The equations of sparse LIF networks in float64: the judge of every kernel.

A layer, at step t, from input spikes to emitted ones (the letters are the field's):

    I[t] = W of the input's spikes + R of the own spikes of step t - 1 + bias
    i[t] = synapse_decay i[t - 1] + (1 - synapse_decay) I[t]     I[t] itself without a synapse
    u[t] = decay v[t] + gain (1 - decay) i[t]
    a[t] = u[t] > threshold                         who spikes
    s[t] = a[t] and it has a slot                   who is seen to spike
    r[t] = a[t], or s[t] if reset_on is "emission"
    v[t + 1] = u[t] (1 - r[t]) | u[t] - threshold r[t] | u[t]    reset "zero" | "subtract" | "none"

from v = i = s = 0 before the first step. "W of the spikes" sums the row W[j] of every spike j in
the order of the slots: an id listed twice counts twice. Slots hold the spiking neurons, then those
with `second_threshold < u <= threshold` (all the others if there is no second threshold), each by
ascending id; who goes without when there are too few, the policies of
ipulse_ops.reference.select_spikes say. The
next layer's input spikes are those of `delay` steps ago. A leaky readout never spikes: r = 0.

The gradient replaces the derivative of a spike by phi(u - threshold), the surrogate, in the
filled slots and by 0 elsewhere; s and r have the same one. With D the derivatives of the reset,

    reset       Du = dv/du    Dr = dv/dr     Dthreshold
    zero        1 - r         -u             0
    subtract    1             -threshold     -r
    none        1             0              0

of which "mask" takes Dr for 0 and "term" also takes Du for 1 and Dthreshold for 0, and with
lambda = dL/du, kappa = decay lambda[t + 1] (that is dL/dv[t + 1]), e = dL/ds, backwards in time:

    e[t] = dL/ds[t] directly + W' dL/dI'[t + delay] + R dL/dI[t + 1] + Dr kappa     ' = next layer
    lambda[t] = phi[t] e[t] + Du kappa + dL/du[t] directly
    dL/di[t] = gain (1 - decay) lambda[t] + synapse_decay dL/di[t + 1]
    dL/dI[t] = (1 - synapse_decay) dL/di[t]

and, summed over t and samples,

    dL/dW[j] = dL/dI[t] where the input spikes at j     dL/dbias = dL/dI[t]
    dL/dR[j] = dL/dI[t] where the layer spiked at j one step before
    dL/ddecay = lambda[t] (v[t] - gain i[t])
    dL/dthreshold = Dthreshold kappa - phi[t] e[t]
    dL/dsynapse_decay = dL/di[t] (i[t - 1] - I[t])
"""

from __future__ import annotations

from typing import List, Optional, Sequence

import numpy as np

from ipulse_ops.lif.network import LeakyReadout, Network
from ipulse_ops.lif.reference.adjoint import Adjoint, layer_adjoint
from ipulse_ops.lif.reference.delay import earlier, later
from ipulse_ops.lif.reference.dynamics import Slots, run_layer, run_readout
from ipulse_ops.lif.reference.trace import Gradients, LayerTrace, Trace
from ipulse_ops.lif.weights import by_layer, flat
from ipulse_ops.reference.select_spikes import filled
from ipulse_ops.reference.spike_matmul import both_counts
from ipulse_ops.reference.spikes import check_shape


def forward(
    network: Network,
    weights: Sequence[np.ndarray],
    ids: np.ndarray,
    counts: np.ndarray,
    replay: Optional[Sequence[Slots]] = None,
    seed: int = 0,
) -> Trace:
    """Run the network from rest on the input spikes ids `[time, batch, slots]`.

    weights: the arrays of ipulse_ops.lif.weights.weight_shapes; without recurrence and biases one
        `[N_in, N_out]` per layer and one for the readout.
    counts: `[time, batch]`; or `[time, batch, 2]`, spikes and filled slots, as another network's
        layer gives them: `backward` has a gradient for its gradient-only neurons too.
    replay: of each spiking layer the `(spike_ids, spike_counts)` of another run, say a kernel's.
        They then decide who spikes and who has a slot, so that a membrane which rounds to the
        other side of a threshold cannot send the two runs apart. Only a neuron that may have been
        dropped (spikes fill all slots, the policy looked at it later) is judged by its own
        membrane, and with reset_on "emission" it only counts.
    seed: of the policy "cyclic", which draws anew for every seed, step, layer and sample.

    Raises ValueError if shapes, dtypes or ids do not fit the network.
    """
    layers = by_layer(network, weights)
    counts, _ = both_counts(ids, counts, network.inputs)
    if replay is not None and len(replay) != len(network.spiking):
        raise ValueError(f"replay must have {len(network.spiking)} layers; got {len(replay)}")
    traces: List[LayerTrace] = []
    for number in range(len(network.spiking)):
        slots = None if replay is None else replay[number]
        traces.append(run_layer(network, number, layers[number], ids, counts, slots, seed))
        ids = later(traces[-1].spike_ids, network.delay)
        counts = later(traces[-1].spike_counts[..., 0], network.delay)
    if isinstance(network.readout, LeakyReadout):
        membrane = run_readout(network.readout, layers[-1], ids, counts)
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
) -> Gradients:
    """The gradients of a loss by the weights, the constants, and the input's spikes.

    trace: of `forward` with the same arguments; any part of it may come from another backend
        (see `LayerTrace`).
    grad_membrane: `[time, batch, classes]`, the loss's derivative by the readout's membrane.
    grad_spikes: of each spiking layer `[time, batch, slots]`, the loss's direct derivative by the
        spike of the neuron in that slot; entries behind the last filled slot are not read.
    grad_u: of each hidden layer `[time, batch, neurons]`, the loss's direct derivative by its u.
    None = 0, for all layers or one.

    Raises ValueError if shapes, dtypes or ids do not fit the network.
    """
    layers = by_layer(network, weights)
    counts, in_use = both_counts(ids, counts, network.inputs)
    check_shape("grad_membrane", grad_membrane, trace.membrane.shape)
    by_slots = _of_each("grad_spikes", grad_spikes, len(network.spiking))
    by_u = [*_of_each("grad_u", grad_u, len(network.layers)), grad_membrane]

    entering: List[Slots] = [(ids, counts)]
    for run in trace.layers:
        spike_ids, spikes = run.spike_ids, run.spike_counts[..., 0]
        entering.append((later(spike_ids, network.delay), later(spikes, network.delay)))
    found: List[Adjoint] = []
    arriving = np.zeros(trace.membrane.shape)  # dL/ds, by the layer after
    for number in reversed(range(len(layers))):
        spiking = number < len(network.spiking)
        adjoint = layer_adjoint(
            network,
            number,
            layers[number],
            entering[number],
            trace.layers[number] if spiking else trace.membrane,
            arriving,
            by_slots[number] if spiking else None,
            by_u[number],
        )
        found.insert(0, adjoint)
        arriving = earlier(adjoint.current @ layers[number].input.T, network.delay if number else 0)
    used = filled(ids, in_use)
    grad_inputs = np.take_along_axis(arriving, np.where(used, ids, 0).astype(np.int64), axis=2)
    return Gradients(
        weights=flat([adjoint.weights for adjoint in found]),
        inputs=np.where(used, grad_inputs, 0),
        constants=tuple(adjoint.constants for adjoint in found),
    )


def _of_each(
    name: str, arrays: Optional[Sequence[Optional[np.ndarray]]], layers: int
) -> Sequence[Optional[np.ndarray]]:
    if arrays is None:
        return [None] * layers
    if len(arrays) != layers:
        raise ValueError(f"{name} must have {layers} layers; got {len(arrays)}")
    return arrays
