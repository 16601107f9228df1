"""A spec's network in the words of the ops."""

from __future__ import annotations

from ipulse.spec import ExperimentSpec
from ops.lif.network import LIF, LeakyReadout, Network, SuperSpike


def network_of(spec: ExperimentSpec) -> Network:
    described = spec.network
    return Network(
        inputs=spec.data.inputs,
        layers=tuple(
            LIF(
                neurons=layer.neurons,
                decay=layer.decay,
                threshold=layer.threshold,
                second_threshold=layer.second_threshold,
                capacity=layer.capacity,
                gain=layer.gain,
            )
            for layer in described.layers
        ),
        readout=LeakyReadout(
            neurons=spec.data.classes,
            decay=described.readout.decay,
            gain=described.readout.gain,
        ),
        reset=described.reset,
        reset_gradient=described.reset_gradient,
        delay=described.delay,
        surrogate=SuperSpike(slope=described.surrogate.slope),
    )
