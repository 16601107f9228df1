"""The peers: what each is called, where its adapter is and what it needs. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Peer:
    """One way to train the benchmark's network with somebody else's library."""

    name: str
    module: str  # of benchmarks.peers, with build(work, threads, fused_adam) -> Program
    environment: str  # the <name> of requirements-<name>.txt
    packages: tuple[str, ...]  # whose versions a result carries, the peer's own first
    note: str
    fused_adam: bool = False
    float32: bool = True  # false: products in a narrower type
    # Greatest difference of a gradient on config S, relative to the greatest entry of its matrix.
    # None: the peer's equations are others, as the note says, and the difference is only reported.
    tolerance: float | None = 1e-4


_ALL = (
    Peer("torch_loop", "torch_loop", "torch", ("torch",), "by hand, all layers step by step"),
    Peer(
        "torch_layerwise",
        "torch_layerwise",
        "torch",
        ("torch",),
        "by hand, one matrix product per layer over all steps, then the recurrence",
    ),
    Peer(
        "torch_layerwise_bf16",
        "torch_layerwise_bf16",
        "torch",
        ("torch",),
        "torch_layerwise under bfloat16 autocast: not float32, shows what matrix units give",
        float32=False,
        tolerance=None,
    ),
    Peer(
        "torch_compile_step",
        "torch_compile_step",
        "torch",
        ("torch",),
        "torch.compile of one time step of the whole network",
    ),
    Peer(
        "torch_compile_layerwise",
        "torch_compile_layerwise",
        "torch",
        ("torch",),
        "one matrix product per layer, the recurrence compiled in blocks of 25 steps",
    ),
    Peer(
        "snntorch",
        "snntorch_leaky",
        "torch",
        ("snntorch", "torch"),
        "snn.Leaky with reset to zero; 1 - decay is folded into the weights",
    ),
    Peer(
        "spikingjelly",
        "spikingjelly_multistep",
        "torch",
        ("spikingjelly", "torch"),
        "LIFNode over all steps (step_mode m), PyTorch backend",
    ),
    Peer(
        "norse",
        "norse_lift",
        "torch",
        ("norse", "torch"),
        "Lift(LIFBoxCell); other gradient: its surrogate has no slope and it follows the reset",
        tolerance=None,
    ),
    Peer(
        "sinabs",
        "sinabs_lif",
        "torch",
        ("sinabs", "torch"),
        "layers.LIF with single spikes and reset to zero, batch first",
    ),
    Peer("jax_scan", "jax_scan", "jax", ("jax", "optax"), "the whole network in one lax.scan"),
    Peer(
        "jax_layerwise",
        "jax_layerwise",
        "jax",
        ("jax", "optax"),
        "one matrix product per layer over all steps, the recurrence in lax.scan",
    ),
    Peer(
        "spyx",
        "spyx_run",
        "jax",
        ("spyx", "jax", "flax", "optax"),
        "spyx.nn.run; other network: it resets by subtraction, one step late, and follows it back",
        tolerance=None,
    ),
    Peer(
        "tf_keras_rnn",
        "tf_keras_rnn",
        "tf",
        ("tensorflow-cpu", "keras"),
        "keras.layers.RNN over a cell, in a tf.function",
    ),
    Peer(
        "tf_keras_rnn_xla",
        "tf_keras_rnn_xla",
        "tf",
        ("tensorflow-cpu", "keras"),
        "the same with jit_compile",
    ),
)

# PyTorch's fused Adam changes little but where the weights outweigh the activations (config D).
_FUSED = (
    "torch_layerwise",
    "torch_layerwise_bf16",
    "torch_compile_step",
    "torch_compile_layerwise",
)

PEERS: dict[str, Peer] = {peer.name: peer for peer in _ALL}
PEERS.update(
    {
        f"{name}+fused_adam": replace(PEERS[name], name=f"{name}+fused_adam", fused_adam=True)
        for name in _FUSED
    }
)

# Per config the peers that have led there, so that `--fastest` answers the headline in minutes.
# First comes the one beside which the goals were set.
FASTEST: dict[str, tuple[str, ...]] = {
    "A": ("torch_compile_layerwise", "torch_layerwise", "torch_layerwise_bf16"),
    "B": ("torch_layerwise", "torch_compile_layerwise", "torch_layerwise_bf16"),
    "C": ("torch_compile_step", "torch_layerwise", "torch_layerwise_bf16"),
    "D": (
        "torch_layerwise+fused_adam",
        "torch_layerwise",
        "torch_layerwise_bf16",
        "torch_layerwise_bf16+fused_adam",
    ),
    "S": ("torch_layerwise",),
}
