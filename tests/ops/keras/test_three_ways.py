"""The dense cell, the sparse cell and MultiLIF are one network: same outputs, same gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras import DenseLIFCell, MultiLIF, SparseLIFCell, pack_spikes
from ipulse_ops.keras.surrogates import phi
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.reference.network_pass import forward
from ipulse_ops.lif.tensorflow_op import LIFOutputs
from ipulse_ops.sparse import sparse_to_dense
from tests.ops.strategies import SURROGATES, Problem, random_problem

FIELDS: Dict[str, Dict[str, Any]] = {
    "plain": {},
    "gated": {"second_threshold": 0.5},
    "recurrent": {"recurrent": True, "second_threshold": 0.25},
    "bias": {"bias": True},
    "synapse": {"synapse_decay": 0.5, "recurrent": True},
}
NETWORKS: List[Dict[str, Any]] = [
    {},
    {"reset_gradient": "term"},
    {"reset_gradient": "none", "delay": 1},
    {"reset": "subtract", "delay": 1},
    {"reset": "subtract", "reset_gradient": "none"},
    {"reset": "subtract", "reset_gradient": "term", "reset_on": "emission"},
    {"reset": "none"},
]
SLOTS: Dict[str, Dict[str, Any]] = {
    policy: {"capacity": 3, "policy": policy, "recurrent": True}
    for policy in ("index", "cyclic", "top")
}
TRAINED = ("decay", "threshold")


def network_of(fields: Dict[str, Any], spiking_readout: bool, **options: Any) -> Network:
    """Per-neuron constants, all dyadic, so that float32 sums are exact in whatever order."""
    rng = np.random.Generator(np.random.PCG64(11))

    def constants(neurons: int) -> Dict[str, Any]:
        return {"neurons": neurons, "decay": rng.choice([0.0, 0.5, 0.75], neurons), "gain": 4.0}

    spiking = [LIF(**{**constants(n), **fields}) for n in (9, 6, 5)]
    readout: Any = spiking[2] if spiking_readout else LeakyReadout(**constants(5))
    options = {"surrogate": SURROGATES[0], **options}
    return Network(inputs=8, layers=tuple(spiking[:2]), readout=readout, **options)


def problem_of(network: Network) -> Problem:
    """The first seed's in which every layer spikes early enough to matter, and drops if it can."""
    for seed in range(1, 100):
        p = random_problem(network, seed, steps=5, batch=3, dyadic=True)
        # Four times as strong, to bring the deeper layers to spike.
        p = replace(p, weights=tuple(4 * matrix for matrix in p.weights))
        layers = forward(network, p.weights, p.ids, p.counts, seed=seed).layers
        drops = any(layer.dropped.any() for layer in layers)
        small = network.layers[0].slots < network.layers[0].neurons
        if all(layer.spike_counts[:4, :, 0].any() for layer in layers) and (drops or not small):
            return p
    raise AssertionError(f"no seed makes an eventful problem of {network}")


def arguments(network: Network) -> Dict[str, Any]:
    names = ("inputs", "layers", "readout", "reset", "reset_gradient", "reset_on", "delay")
    return {name: getattr(network, name) for name in (*names, "surrogate")}


def loss_of(problem: Problem, membrane: Any, spikes: List[Any], membranes: List[Any]) -> Any:
    """A loss of all results, `[batch, time, ...]`."""
    rng = np.random.Generator(np.random.PCG64(12))
    loss = tf.reduce_sum(membrane * rng.normal(size=membrane.shape).astype(np.float32))
    for tensor in (*spikes, *membranes):
        loss += tf.reduce_sum(tensor * rng.normal(size=tensor.shape).astype(np.float32))
    return loss


def dense_spikes(network: Network, out: LIFOutputs) -> List[Any]:
    return [
        sparse_to_dense(ids, counts, layer.neurons)
        for layer, ids, counts in zip(network.spiking, out.spike_ids, out.spike_counts)
    ]


def gradients(tape: tf.GradientTape, loss: Any, net: Any) -> List[np.ndarray]:
    actual = tape.gradient(loss, net.trainable_weights)
    return [np.asarray(grad) for grad in actual]


Way = Tuple[List[np.ndarray], List[np.ndarray]]


def by_sequence(problem: Problem, **options: Any) -> Way:
    p = problem
    net = MultiLIF(
        **arguments(p.network),
        trainable=TRAINED,
        return_membranes=True,
        time_major=False,
        seed=p.seed,
        **options,
    )
    net.set_kernels(p.weights)
    with tf.GradientTape() as tape:
        out = net(p.ids.transpose(1, 0, 2), p.counts.T)
        spikes = dense_spikes(p.network, out)
        loss = loss_of(p, out.membrane, spikes, out.membranes)
    made = [out.membrane, *spikes, *out.membranes, *out.spike_ids, *out.dropped]
    return [np.asarray(tensor) for tensor in made], gradients(tape, loss, net)


def by_sparse_cell(problem: Problem, traced: bool = False, **options: Any) -> Way:
    p = problem
    cell = SparseLIFCell(**arguments(p.network), trainable=TRAINED, seed=p.seed, **options)
    cell.set_kernels(p.weights)
    rnn = tf.keras.layers.RNN(cell, return_sequences=True)
    packed = pack_spikes(p.ids.transpose(1, 0, 2), p.counts.T)

    def run() -> Any:
        with tf.GradientTape() as tape:
            out = cell.unpack(rnn(packed))
            spikes = dense_spikes(p.network, out)
            loss = loss_of(p, out.membrane, spikes, out.membranes)
        made = [out.membrane, *spikes, *out.membranes, *out.spike_ids, *out.dropped]
        return made, tape.gradient(loss, cell.trainable_weights)

    made, grads = tf.function(run)() if traced else run()
    return [np.asarray(tensor) for tensor in made], [np.asarray(grad) for grad in grads]


def by_dense_cell(problem: Problem, traced: bool = False, **options: Any) -> Way:
    p = problem
    cell = DenseLIFCell(**arguments(p.network), trainable=TRAINED, **options)
    cell.set_kernels(p.weights)
    rnn = tf.keras.layers.RNN(cell, return_sequences=True)
    dense = sparse_to_dense(p.ids, p.counts, p.network.inputs).numpy().transpose(1, 0, 2)

    def run() -> Any:
        with tf.GradientTape() as tape:
            out = cell.unpack(rnn(dense))
            loss = loss_of(p, out.membrane, out.spikes, out.membranes)
        made = [out.membrane, *out.spikes, *out.membranes]
        return made, tape.gradient(loss, cell.trainable_weights)

    made, grads = tf.function(run)() if traced else run()
    return [np.asarray(tensor) for tensor in made], [np.asarray(grad) for grad in grads]


def assert_same(one: Way, other: Way, what: str) -> None:
    """Outputs to the bit, as far as both have them; gradients to float32's rounding."""
    for ours, theirs in zip(one[0], other[0]):
        np.testing.assert_array_equal(ours, theirs, err_msg=what)
    assert len(one[1]) == len(other[1])
    for ours, theirs in zip(one[1], other[1]):
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5 * scale, err_msg=what)


@pytest.mark.sample(4)
@pytest.mark.parametrize("spiking_readout", [False, True])
@pytest.mark.parametrize("fields", FIELDS)
def test_layers(fields: str, spiking_readout: bool) -> None:
    problem = problem_of(network_of(FIELDS[fields], spiking_readout))
    sparse, dense = by_sparse_cell(problem), by_dense_cell(problem)
    for backend in ("cpu", "numpy"):
        sequence = by_sequence(problem, backend=backend)
        assert all(np.abs(grad).max() > 0 for grad in sequence[1])
        assert_same(sparse, sequence, f"sparse cell, {backend}, seed {problem.seed}")
        assert_same(dense, sequence, f"dense cell, {backend}, seed {problem.seed}")


@pytest.mark.old_python
@pytest.mark.sample(3)
@pytest.mark.parametrize("options", NETWORKS, ids=str)
def test_networks(options: Dict[str, Any]) -> None:
    problem = problem_of(network_of(FIELDS["recurrent"], True, **options))
    sequence = by_sequence(problem)
    assert_same(by_sparse_cell(problem), sequence, f"sparse cell, seed {problem.seed}")
    assert_same(by_dense_cell(problem), sequence, f"dense cell, seed {problem.seed}")


@pytest.mark.sample(3)
@pytest.mark.parametrize("reset_on", ["state", "emission"])
@pytest.mark.parametrize("policy", SLOTS)
def test_capacities(policy: str, reset_on: str) -> None:
    problem = problem_of(network_of(SLOTS[policy], False, reset_on=reset_on, reset_gradient="none"))
    sequence = by_sequence(problem)
    traced = (policy, reset_on) == ("top", "emission")  # once: to trace takes seconds
    assert_same(by_sparse_cell(problem, traced), sequence, f"seed {problem.seed}")
    with pytest.raises(ValueError, match=r"layers\[0\] has 3 slots for 9 neurons"):
        by_dense_cell(problem)


@pytest.mark.parametrize("surrogate", SURROGATES, ids=lambda s: type(s).__name__)
def test_surrogates(surrogate: Any) -> None:
    x = np.linspace(-3, 3, 61, dtype=np.float32)
    np.testing.assert_allclose(phi(surrogate, x), surrogate.phi(x.astype(float)), atol=1e-6)
    problem = problem_of(network_of({}, False, surrogate=surrogate))
    sequence = by_sequence(problem)
    assert_same(by_sparse_cell(problem), sequence, f"sparse cell, seed {problem.seed}")
    assert_same(by_dense_cell(problem), sequence, f"dense cell, seed {problem.seed}")


@pytest.mark.sample(2)
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("by_cell", [by_dense_cell, by_sparse_cell])
def test_cells_on_tiles(by_cell: Callable[..., Way], traced: bool) -> None:
    """Several tiles; traced, the RNN is a while loop, in which every output has its gradient."""
    problem = problem_of(network_of(FIELDS["gated"], True, surrogate=SURROGATES[-1]))
    on_tiles = by_cell(problem, traced, backend="emulator", tiles_per_ipu=4)
    assert_same(on_tiles, by_sequence(problem), f"seed {problem.seed}")


@pytest.mark.parametrize("kind", [SparseLIFCell, DenseLIFCell])
def test_config_round_trip(kind: Any) -> None:
    cell = kind(**arguments(network_of(FIELDS["gated"], True)), trainable=["decay"], seed=3)
    again = kind.from_config(cell.get_config())
    assert again.get_config() == cell.get_config()


@pytest.mark.old_python
def test_a_stateful_rnn_continues_where_it_ended() -> None:
    """Traced, as `model.predict` does, where Keras 3 hands the cell its own variables."""
    cell = DenseLIFCell(inputs=6, layers=[LIF(4)], readout=LeakyReadout(2))
    rng = np.random.Generator(np.random.PCG64(1))
    spikes = tf.cast(rng.random((3, 2, 6)) < 0.5, tf.float32)
    options = {"return_sequences": True, "unroll": True}  # a loop takes seconds to trace
    whole = tf.keras.layers.RNN(cell, **options)(spikes)
    run = tf.function(tf.keras.layers.RNN(cell, stateful=True, **options), autograph=False)
    np.testing.assert_array_equal(tf.concat([run(spikes[:, :1]), run(spikes[:, 1:])], 1), whole)
