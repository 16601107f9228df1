"""The options and the outputs of every back end of `run_network`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence

from ipulse_core.ipu import MK2_TILES
from ipulse_ops.lif.placement import Placement
from ipulse_ops.validation import choice, flag

OnLayer = Callable[[int], None]  # called with the number of a layer that runs alone, from 0
STATE_TYPES = ("float32", "float16")


class LIFOutputs(NamedTuple):
    """Results of a network over a whole sequence, all float32.

    A spiking layer is a hidden layer, or the readout if it spikes.
    """

    membrane: Any  # [time, batch, classes], of the readout
    spike_ids: List[Any]  # per spiking layer [time, batch, slots]: spiking, gradient-only, zeros
    spike_counts: List[Any]  # per spiking layer [time, batch, 2]: spikes, filled slots
    dropped: List[Any]  # per spiking layer [time, batch]: spikes beyond the capacity
    # Per hidden layer [time, batch, neurons], or an empty tensor for one that shows none; the list
    # is empty unless asked for.
    membranes: List[Any]


@dataclass(frozen=True)
class RunOptions:
    """How `run_network` runs a network.

    backend: a name in ipulse_ops.lif.tensorflow_op.BACKENDS. "numpy" runs the float64 reference,
        slowly and without a compiler; "emulator" runs the Poplar op on emulated IPUs of
        `tiles_per_ipu` tiles, "ipu" on the IPUs of Graphcore's TensorFlow, both with a `placement`.
    threads: 0 for all processors that the process may use; results do not depend on it.
    arch: mask of CPU features to use, None for all of this machine's.
    keep: False saves the backward pass's memory; computing a gradient is then an error.
    constants: one mapping per layer and the readout: float32 tensors `[neurons]` that replace its
        constants of ipulse_core.neurons.constants.TRAINED, which receive a gradient, or its
        "second_threshold".
    seed: seed of the policy "cyclic", 0 to 2^64 - 1 or an int64 tensor.
    dropout_seed: seed of the layers' dropout, as `seed`, in training, where each step has another
        one; None receives every spike.
    memory: what is stored for the backward pass: "slots", the membranes that carry gradient;
        "recompute", the spikes alone, from which the layers are run again.
    weights_dtype: "bfloat16" rounds the matrices to it before the run; their packed copies then
        take two bytes per weight. All else stays float32.
    states_dtype: "float16" stores membranes and synapses in two bytes between time steps, rounded
        to the nearest number or, with `stochastic_rounding`, at random by `seed`; sums, gradients
        and outputs are float32. Only the Poplar op has it.
    return_membranes: True adds the hidden layers' membranes to the outputs.
    on_layer: called with the number of each layer, from 0, before it is run alone: with dropout,
        residual additions or delays.
    """

    backend: str = "cpu"
    threads: int = 0
    arch: Optional[int] = None
    keep: bool = True
    constants: Optional[Sequence[Mapping[str, Any]]] = None
    seed: Any = 0
    dropout_seed: Any = None
    memory: str = "slots"
    weights_dtype: str = "float32"
    states_dtype: str = "float32"
    stochastic_rounding: bool = False
    return_membranes: bool = False
    placement: Placement = Placement()
    tiles_per_ipu: int = MK2_TILES
    on_layer: OnLayer = lambda number: None


def check_states(states_dtype: str, stochastic_rounding: bool, backend: str) -> None:
    """Raise ValueError for a type of states that a back end does not have."""
    choice("states_dtype", states_dtype, STATE_TYPES)
    if flag("stochastic_rounding", stochastic_rounding) and states_dtype == "float32":
        raise ValueError("states of float32 are not rounded: use states_dtype float16")
    if states_dtype != "float32" and backend not in ("emulator", "ipu"):
        raise ValueError(
            f"only the Poplar op has states of float16: use the backend emulator or ipu; got "
            f"{backend!r}"
        )
