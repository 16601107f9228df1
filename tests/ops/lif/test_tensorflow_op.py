"""The TensorFlow op: what it adds to the kernels is shapes, gradients, graphs and errors."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any, List, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.lif.cpu import arrays, native
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.run_options import RunOptions
from ipulse_ops.lif.tensorflow_op import LIFOutputs, run_network
from tests.ops.lif.conftest import NETWORK
from tests.ops.strategies import Problem

WEIGHT_BYTES = 2**24  # of 2,048 x 2,048
COLLAPSE = 25  # Linux's number of MADV_COLLAPSE


def loss_of(problem: Problem, out: LIFOutputs, spikes: bool = True) -> Any:
    """A loss with the problem's gradients of the outputs."""
    loss = tf.reduce_sum(out.membrane * problem.grad_membrane)
    if spikes:
        for ids, grad in zip(out.spike_ids, problem.grad_spikes):
            loss += tf.reduce_sum(ids * grad)
    return loss


def gradient(problem: Problem, spikes: bool = True) -> Tuple[Any, List[Any]]:
    weights = [tf.constant(matrix) for matrix in problem.weights]
    with tf.GradientTape() as tape:
        tape.watch(weights)
        out = run_network(problem.network, weights, problem.ids, problem.counts)
        loss = loss_of(problem, out, spikes)
    return out, tape.gradient(loss, weights)


def kernel(problem: Problem, spikes: bool = True) -> Tuple[arrays.NetworkRun, List[np.ndarray]]:
    p = problem
    run = arrays.forward(p.network, p.weights, p.ids, p.counts)
    direct = p.grad_spikes if spikes else None
    actual = arrays.backward(*(p.network, p.weights, p.ids, p.counts, run), p.grad_membrane, direct)
    return run, list(actual.weights)


def can_collapse() -> bool:
    """Return True if memory moves into huge pages on request and only then: this needs Linux 6.1,
    and memory that is not too scattered."""
    switch = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not switch.is_file() or "[madvise]" not in switch.read_text("ascii"):
        return False
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    with mmap.mmap(-1, WEIGHT_BYTES, flags=private) as memory:
        memory.write(bytes(WEIGHT_BYTES))
        try:
            memory.madvise(COLLAPSE)
        except OSError:
            return False
    return True


def in_huge_pages(matrix: Any) -> int:
    """MiB of the mappings that hold a tensor of WEIGHT_BYTES: others gain and lose such pages."""
    begin = np.frombuffer(memoryview(matrix), np.float32).ctypes.data
    kib, is_there = 0, False
    for line in Path("/proc/self/smaps").read_text("utf-8").splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            first, last = (int(place, 16) for place in words[0].split("-"))
            is_there = first < begin + WEIGHT_BYTES and begin < last
        elif is_there and words[0] == "AnonHugePages:":
            kib += int(words[1])
    return kib // 1024


@pytest.mark.old_python
class TestForward:
    def test_outputs_are_the_kernels(self, problem: Problem) -> None:
        out, _ = gradient(problem)
        run, _ = kernel(problem)
        np.testing.assert_array_equal(out.membrane, run.membrane)
        for number, layer in enumerate(run.layers):
            np.testing.assert_array_equal(out.spike_ids[number], layer.spike_ids)
            np.testing.assert_array_equal(out.spike_counts[number], layer.spike_counts)
            np.testing.assert_array_equal(out.dropped[number], layer.dropped)
        assert run.layers[2].dropped.max() > 0
        assert {tensor.dtype for tensor in tf.nest.flatten(out)} == {tf.float32}

    def test_shapes_are_known_while_tracing(self, problem: Problem) -> None:
        weights = [tf.constant(matrix) for matrix in problem.weights]

        @tf.function(
            input_signature=[
                tf.TensorSpec([None, 5, None], tf.int32),
                tf.TensorSpec([None, 5], tf.int32),
            ]
        )
        def traced(ids: Any, counts: Any) -> Any:
            out = run_network(NETWORK, weights, ids, counts)
            assert out.membrane.shape.as_list() == [None, 5, 6]
            assert [ids.shape.as_list() for ids in out.spike_ids] == [
                [None, 5, 50],
                [None, 5, 40],
                [None, 5, 4],
            ]
            assert out.spike_counts[0].shape.as_list() == [None, 5, 2]
            assert out.dropped[0].shape.as_list() == [None, 5]
            return out.membrane

        run, _ = kernel(problem)
        np.testing.assert_array_equal(traced(problem.ids, problem.counts), run.membrane)

    def test_large_weights_that_stay_move_into_huge_pages_as_they_are(self) -> None:
        if not can_collapse():
            pytest.skip("needs Linux 6.1 with huge pages by madvise, and free ones")
        network = Network(2048, (LIF(2048, 0.9),), LeakyReadout(2, 0.9))
        drawn = np.random.RandomState(3).rand(2048, 2048).astype(np.float32)
        assert drawn.nbytes == WEIGHT_BYTES
        copies = [tf.Variable(drawn) for _ in range(8)]
        actual = [in_huge_pages(copy.read_value()) for copy in copies]
        if min(actual) >= 8:
            pytest.skip("TensorFlow put them into huge pages itself, as 2.6 does")
        ids, counts = np.full((1, 1, 1), 7, np.int32), np.ones((1, 1), np.int32)
        moved = []
        # A system may be short of huge pages for a moment, or split some again: one is enough.
        for copy, before in zip(copies, actual):
            if before >= 8:
                continue
            for _ in range(3):
                run_network(network, [copy, tf.zeros([2048, 2])], ids, counts)
            np.testing.assert_array_equal(copy, drawn)
            moved.append(in_huge_pages(copy.read_value()))
            if moved[-1] >= 8:
                return
        if not can_collapse():
            pytest.skip("no huge pages are free any more")
        pytest.fail(f"MiB in huge pages before: {actual}, after: {moved}")


@pytest.mark.old_python
class TestGradient:
    @pytest.mark.parametrize("spikes", [True, False])
    def test_tape_gives_the_kernels_gradients(self, problem: Problem, spikes: bool) -> None:
        _, grads = gradient(problem, spikes)
        _, expected = kernel(problem, spikes)
        for grad, same in zip(grads, expected):
            np.testing.assert_array_equal(grad, same)
            assert np.abs(same).max() > 0

    def test_function_gives_the_same_bits(self, problem: Problem) -> None:
        _, grads = tf.function(lambda: gradient(problem))()
        _, expected = kernel(problem)
        for grad, same in zip(grads, expected):
            np.testing.assert_array_equal(grad, same)

    @pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
    def test_a_tape_may_be_asked_again(self, problem: Problem, traced: bool) -> None:
        """The membranes that a pass keeps are written to by the last gradient, and by no other."""

        def twice() -> Any:
            weights = [tf.constant(matrix) for matrix in problem.weights]
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(weights)
                loss = loss_of(
                    problem, run_network(problem.network, weights, problem.ids, problem.counts)
                )
            first = tape.gradient(loss, weights)
            with tf.control_dependencies(first):
                return first, tape.gradient(loss, weights)

        _, expected = kernel(problem)
        for grads in tf.function(twice)() if traced else twice():
            for grad, same in zip(grads, expected):
                np.testing.assert_array_equal(grad, same)

    def test_one_layers_spikes_alone(self, problem: Problem) -> None:
        """A loss that looks at no membrane reaches the layers up to the one it looks at."""
        weights = [tf.constant(matrix) for matrix in problem.weights]
        with tf.GradientTape() as tape:
            tape.watch(weights)
            out = run_network(NETWORK, weights, problem.ids, problem.counts)
            loss = tf.reduce_sum(out.spike_ids[1] * problem.grad_spikes[1])
        grads = tape.gradient(loss, weights)
        p, (run, _) = problem, kernel(problem)
        nothing = np.zeros_like(p.grad_membrane)
        direct = [None, p.grad_spikes[1], None]
        expected = arrays.backward(*(p.network, p.weights, p.ids, p.counts, run), nothing, direct)
        for number, (grad, same) in enumerate(zip(grads, expected.weights)):
            np.testing.assert_array_equal(grad, same)
            assert (np.abs(same).max() > 0) == (number < 2)

    def test_inside_a_while_loop(self, problem: Problem) -> None:
        """Three rounds in a loop that TensorFlow differentiates are three times one round."""

        @tf.function
        def looped(weights: List[Any]) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(weights)
                total = tf.constant(0.0)
                for _ in tf.range(3):
                    out = run_network(NETWORK, weights, problem.ids, problem.counts)
                    total += loss_of(problem, out)
            return tape.gradient(total, weights)

        grads = looped([tf.constant(matrix) for matrix in problem.weights])
        _, expected = kernel(problem)
        for grad, one in zip(grads, expected):
            np.testing.assert_allclose(grad, 3 * one, rtol=1e-6, atol=1e-6 * np.abs(one).max())

    def test_what_keep_false_left_out_is_named(self, problem: Problem) -> None:
        weights = [tf.constant(matrix) for matrix in problem.weights]
        with tf.GradientTape() as tape:
            tape.watch(weights)
            out = run_network(NETWORK, weights, problem.ids, problem.counts, RunOptions(keep=False))
        np.testing.assert_array_equal(out.membrane, kernel(problem)[0].membrane)
        with pytest.raises(tf.errors.InvalidArgumentError, match="stored nothing"):
            tape.gradient(out.membrane, weights)


def test_calls_are_timed(problem: Problem) -> None:
    native.reset_timings()
    gradient(problem)
    timings = native.timings()
    assert (timings["forward_calls"], timings["backward_calls"]) == (1, 1)
    assert 0 < timings["forward"] < 10
    assert 0 < timings["backward"] < 10


def test_the_parts_of_a_call_are_timed_on_request(problem: Problem) -> None:
    gradient(problem)
    assert not any(map(sum, native.phases().values()))

    native.reset_timings()
    native.clock_phases(True)
    try:
        gradient(problem)
        actual = native.phases()
    finally:
        native.clock_phases(False)
    layers = len(NETWORK.layers)
    for name in ("lif_forward", "select", "pack"):
        assert all(actual[name][:layers]), name
        assert not any(actual[name][layers + 1 :]), name
    assert actual["leaky_forward"][layers] > 0
    assert all(actual["weight_gradient"][: layers + 1])
    timings = native.timings()
    spent = sum(map(sum, actual.values()))
    assert spent < (timings["forward"] + timings["backward"]) * native.description()["threads"]
