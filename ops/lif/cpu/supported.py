"""What the CPU kernels can run, of all that a network can be."""

from __future__ import annotations

from typing import List

from ops.lif.network import LIF, Network
from ops.surrogate import SuperSpike


class UnsupportedNetwork(ValueError):
    """The kernels cannot run this network; the message names all that they lack."""


def check_supported(network: Network) -> SuperSpike:
    """The network's surrogate, if the kernels can run it.

    Raises UnsupportedNetwork if they cannot.
    """
    lacking: List[str] = []
    if network.reset != "zero":
        lacking.append(f"reset {network.reset}")
    if network.reset_on != "state":
        lacking.append(f"reset_on {network.reset_on}")
    if network.reset_gradient == "none":
        lacking.append("reset_gradient none")
    if isinstance(network.readout, LIF):
        lacking.append("a readout that spikes")
    layers = (*network.layers, network.readout)
    if any(layer.recurrent for layer in network.spiking):
        lacking.append("recurrent layers")
    if any(layer.bias for layer in layers):
        lacking.append("biases")
    if any(layer.synapse_decay is not None for layer in layers):
        lacking.append("a synapse_decay")
    for policy in sorted({layer.policy for layer in network.spiking} - {"index"}):
        lacking.append(f"the policy {policy}")
    if isinstance(network.surrogate, SuperSpike) and not lacking:
        return network.surrogate
    if not isinstance(network.surrogate, SuperSpike):
        lacking.append(f"the surrogate {type(network.surrogate).__name__}")
    raise UnsupportedNetwork(
        f"the CPU kernels do not have {', '.join(lacking)}; change the network, or run it with "
        "ops.lif.reference"
    )
