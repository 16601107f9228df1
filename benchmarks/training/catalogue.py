"""The other libraries that are measured. Standard library only: their processes import it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """One way to train the benchmark's network with another library."""

    module: str  # of benchmarks.training.peers, with build(work, threads) -> Program
    environment: str  # the <name> of requirements-<name>.txt
    packages: tuple[str, ...]  # their versions are reported; the peer's own package is first
    note: str
    # Largest accepted difference of a gradient on config S, relative to its matrix's largest entry.
    # None: the peer computes in another precision, so that the difference is only reported.
    tolerance: float | None = 1e-4
    options: tuple[str, ...] = ()  # keyword arguments of build that are set to True


PEERS: dict[str, Peer] = {
    "torch_layerwise": Peer(
        "torch_layerwise",
        "torch",
        ("torch",),
        "PyTorch by hand: one matrix product per layer over all steps, then the recurrence",
    ),
    "torch_layerwise_bf16": Peer(
        "torch_layerwise",
        "torch",
        ("torch",),
        "the same under bfloat16 autocast: not float32, shows what matrix units give",
        tolerance=None,
        options=("bfloat16",),
    ),
    "torch_layerwise+fused_adam": Peer(
        "torch_layerwise",
        "torch",
        ("torch",),
        "the same in float32 with Adam(fused=True)",
        options=("fused_adam",),
    ),
    "torch_compile_step": Peer(
        "torch_compile_step",
        "torch",
        ("torch",),
        "torch.compile of one time step of the whole network",
    ),
    "torch_compile_layerwise": Peer(
        "torch_compile_layerwise",
        "torch",
        ("torch",),
        "one matrix product per layer, the recurrence compiled in blocks of 25 steps",
    ),
    "snntorch": Peer(
        "snntorch_leaky",
        "torch",
        ("snntorch", "torch"),
        "snn.Leaky with reset to zero; 1 - decay is folded into the weights",
    ),
    "tf_keras_rnn": Peer(
        "tf_keras_rnn",
        "tf",
        ("tensorflow-cpu", "keras"),
        "keras.layers.RNN over a cell, in a tf.function",
    ),
}

# The fastest float32 peer of each config when all 18 were measured, and the bfloat16 one.
FASTEST: dict[str, tuple[str, ...]] = {
    "A": ("torch_compile_layerwise", "torch_layerwise_bf16"),
    "B": ("torch_layerwise", "torch_compile_layerwise", "torch_layerwise_bf16"),
    "C": ("torch_compile_step", "torch_layerwise", "torch_layerwise_bf16"),
    "D": ("torch_layerwise+fused_adam", "torch_layerwise", "torch_layerwise_bf16"),
    "S": ("torch_layerwise",),
}

# Regression guards with 2 threads: the peer, and how many times as fast the exact and the gated 0.9
# training step must be, less GUARD_MARGIN.
GUARDS: dict[str, tuple[str, float, float]] = {
    "A": ("torch_compile_layerwise", 8, 15),
    "B": ("torch_layerwise", 6, 12),
    "C": ("torch_compile_step", 5, 8),
    "D": ("torch_layerwise+fused_adam", 4, 11),
}
GUARD_MARGIN = 0.15
