"""The back ends that can run a network. Each returns spikes, membranes and gradients."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import numpy as np
import tensorflow as tf

from ipulse_ops.keras import DenseLIFCell, LIFOutputs, MultiLIF, SparseLIFCell, pack_spikes
from ipulse_ops.lif.network import LIF
from ipulse_ops.lif.unsupported import UnsupportedNetwork
from ipulse_ops.reference.select_spikes import select_spikes
from ipulse_ops.sparse import sparse_to_dense
from ipulse_worker.runner.crosscheck.problem import CrosscheckProblem


class Result(NamedTuple):
    """The result of a back end; `ipulse_ops.lif.reference.network_pass.forward` replays `slots`."""

    membrane: np.ndarray  # float32 [time, batch, classes]
    slots: List[Tuple[np.ndarray, np.ndarray]]  # of each spiking layer
    gradients: List[np.ndarray]  # by the weights, then by the trained constants


class Backend(NamedTuple):
    """A back end on a device; `run` takes the problem and the tiles of the emulated IPU."""

    name: str
    device: str
    run: Callable[[CrosscheckProblem, int], Result]


def one_op(device: str) -> Callable[[CrosscheckProblem, int], Result]:
    """Return a back end that runs all layers and steps in one op."""

    def run(problem: CrosscheckProblem, tiles: int) -> Result:
        net = MultiLIF(**_arguments(problem), backend=device, tiles_per_ipu=tiles)
        net.set_kernels(problem.weights)
        with tf.GradientTape() as tape:
            out = net(problem.ids, problem.counts)
            loss = _loss(problem, out.membrane, _dense_spikes(problem, out))
        return Result(out.membrane.numpy(), _slots(out), _gradients(tape, loss, net))

    return run


def sparse_cell(device: str) -> Callable[[CrosscheckProblem, int], Result]:
    """Return a back end that runs sparse ops in a Keras RNN, step by step."""

    def run(problem: CrosscheckProblem, tiles: int) -> Result:
        cell = SparseLIFCell(**_arguments(problem), backend=device, tiles_per_ipu=tiles)
        cell.set_kernels(problem.weights)
        rnn = tf.keras.layers.RNN(cell, return_sequences=True)
        packed = pack_spikes(problem.ids.transpose(1, 0, 2), problem.counts.T)
        with tf.GradientTape() as tape:
            out = tf.nest.map_structure(_time_first, cell.unpack(rnn(packed)))
            loss = _loss(problem, out.membrane, _dense_spikes(problem, out))
        return Result(out.membrane.numpy(), _slots(out), _gradients(tape, loss, cell))

    return run


def dense_cell(device: str) -> Callable[[CrosscheckProblem, int], Result]:
    """Return a back end that multiplies dense matrices in a Keras RNN.

    It raises UnsupportedNetwork for networks with a capacity.
    """

    def run(problem: CrosscheckProblem, tiles: int) -> Result:
        try:
            cell = DenseLIFCell(**_arguments(problem), backend=device, tiles_per_ipu=tiles)
        except ValueError as error:
            raise UnsupportedNetwork(str(error)) from error
        return _run_dense(problem, cell)

    return run


BACKENDS = (
    Backend("dense cell", "cpu", dense_cell("cpu")),
    Backend("sparse ops in an RNN", "cpu", sparse_cell("cpu")),
    Backend("one op", "cpu", one_op("cpu")),
    Backend("dense cell", "emulator", dense_cell("emulator")),
    Backend("sparse ops in an RNN", "emulator", sparse_cell("emulator")),
    Backend("one op", "emulator", one_op("emulator")),
)


def _run_dense(problem: CrosscheckProblem, cell: Any) -> Result:
    network = problem.network
    cell.set_kernels(problem.weights)
    rnn = tf.keras.layers.RNN(cell, return_sequences=True)
    dense = _time_first(sparse_to_dense(problem.ids, problem.counts, network.inputs))
    with tf.GradientTape() as tape:
        out = tf.nest.map_structure(_time_first, cell.unpack(rnn(dense)))
        loss = _loss(problem, out.membrane, out.spikes)
    slots = []
    for layer, u in zip(network.spiking, [*out.membranes, out.membrane]):
        # A dense cell selects no spikes; select those that its own membranes give.
        threshold = np.asarray(layer.threshold, np.float32)
        second = layer.second_threshold
        gate = None if second is None else np.asarray(second, np.float32)
        selected = select_spikes(u.numpy(), threshold, gate)
        slots.append((selected.spike_ids, selected.spike_counts))
    return Result(out.membrane.numpy(), slots, _gradients(tape, loss, cell))


def _arguments(problem: CrosscheckProblem) -> Dict[str, Any]:
    network = problem.network
    names = ("inputs", "layers", "readout", "reset", "reset_gradient", "reset_on", "delay")
    arguments = {name: getattr(network, name) for name in (*names, "surrogate", "truncate")}
    return {**arguments, "trainable": problem.trainable, "seed": problem.seed}


def _loss(problem: CrosscheckProblem, membrane: Any, spikes: List[Any]) -> Any:
    loss = tf.reduce_sum(membrane * problem.by_membrane)
    for dense, by in zip(spikes, problem.by_spikes):
        loss += tf.reduce_sum(dense * by)
    return loss


def _dense_spikes(problem: CrosscheckProblem, out: LIFOutputs) -> List[Any]:
    layers: Tuple[LIF, ...] = problem.network.spiking
    return [
        sparse_to_dense(ids, counts, layer.neurons)
        for layer, ids, counts in zip(layers, out.spike_ids, out.spike_counts)
    ]


def _slots(out: LIFOutputs) -> List[Tuple[np.ndarray, np.ndarray]]:
    return [
        (ids.numpy().astype(np.int32), counts.numpy().astype(np.int32))
        for ids, counts in zip(out.spike_ids, out.spike_counts)
    ]


def _gradients(tape: tf.GradientTape, loss: Any, net: Any) -> List[np.ndarray]:
    """Return gradients by the weights, then by the trained constants, in Keras's order."""
    return [np.asarray(gradient) for gradient in tape.gradient(loss, net.trainable_weights)]


def _time_first(tensor: Any) -> Any:
    """Exchange the batch and time axes."""
    return tf.transpose(tensor, [1, 0, *range(2, tensor.shape.rank)])
