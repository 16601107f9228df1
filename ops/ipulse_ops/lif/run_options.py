"""The options and the outputs of every back end of `run_network`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence

from ipulse_core.ipu import MK2_TILES
from ipulse_ops.lif.poplar.attributes import Placement


class LIFOutputs(NamedTuple):
    """Results of a network over a whole sequence, all float32.

    A spiking layer is a hidden layer, or the readout if it spikes.
    """

    membrane: Any  # [time, batch, classes], of the readout
    spike_ids: List[Any]  # per spiking layer [time, batch, slots]: spiking, gradient-only, zeros
    spike_counts: List[Any]  # per spiking layer [time, batch, 2]: spikes, filled slots
    dropped: List[Any]  # per spiking layer [time, batch]: spikes beyond the capacity
    membranes: List[Any]  # per hidden layer [time, batch, neurons]; empty unless asked for


@dataclass(frozen=True)
class RunOptions:
    """The arguments of `run_network` besides the network, its weights and its input spikes."""

    threads: int = 0
    arch: Optional[int] = None
    keep: bool = True
    constants: Optional[Sequence[Mapping[str, Any]]] = None
    seed: Any = 0
    dropout_seed: Any = None
    memory: str = "slots"
    weights_dtype: str = "float32"
    return_membranes: bool = False
    placement: Placement = Placement()
    tiles_per_ipu: int = MK2_TILES
