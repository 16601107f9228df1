"""What TensorFlow for the IPU finds in the op's library, at both levels of its interface."""

from __future__ import annotations

import ctypes
import re
import subprocess
from typing import Any, Tuple

import numpy as np
import pytest

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.poplar.arrays import PoplarLIF
from ipulse_ops.lif.poplar.attributes import Wanted, attributes_of
from ipulse_ops.lif.poplar.build import build
from ipulse_ops.lif.poplar.outputs import output_specs
from ipulse_ops.lif.unsupported import UnsupportedNetwork
from poplar_emulator.custom_op import CustomOp, CustomOpError
from tests.ops.lif.poplar.variants import assert_gradients, compiled, run_both
from tests.ops.strategies import random_problem

NETWORK = Network(
    inputs=6, layers=(LIF(neurons=4, capacity=2),), readout=LeakyReadout(neurons=2, bias=True)
)
SYMBOLS = ("", "_metadata", "_allocator", "_grad", "_grad_metadata")
both_levels = pytest.mark.parametrize("level", [4, 5])


@both_levels
class TestLibrary:
    def test_symbols_are_exported(self, level: int) -> None:
        listing = subprocess.run(
            ["nm", "-D", "--defined-only", str(build(level).library)],
            stdout=subprocess.PIPE,
            check=True,
        ).stdout.decode()
        assert re.search(r" [DB] custom_op_api_level$", listing, re.MULTILINE)
        for symbol in SYMBOLS:
            assert re.search(rf" T Build{symbol}$", listing, re.MULTILINE), symbol

    def test_level_and_metadata(self, level: int) -> None:
        """Called through a function that counts on the level's own number of parameters."""
        library = ctypes.CDLL(str(build(level).library))
        assert ctypes.c_int32.in_dll(library, "custom_op_api_level").value == level
        # Vectors and a map, empty: three pointers, and the header of a red-black tree.
        flags = [ctypes.c_bool(value) for value in (True, False, False)]
        vectors = [(ctypes.c_void_p * 3)() for _ in range(level - 3)]
        tree = (ctypes.c_void_p * 6)()
        tree[3] = tree[4] = ctypes.addressof(tree) + ctypes.sizeof(ctypes.c_void_p)
        arguments = [*map(ctypes.byref, [*vectors, tree, *flags]), ctypes.c_uint32(9)]
        library.Build_metadata(*arguments)
        elementwise, stateless, hashable = (flag.value for flag in flags)
        assert (elementwise, stateless, hashable) == (False, True, True)
        begin, end = vectors[0][0], vectors[0][1]
        allocating = ctypes.cast(begin, ctypes.POINTER(ctypes.c_int64))[: (end - begin) // 8]
        assert allocating == list(range(2, 9))
        assert not any(vectors[-1][:2]) or level == 4

    @pytest.mark.old_python
    def test_runs_as_tensorflow_of_that_level_runs_it(self, level: int) -> None:
        problem = random_problem(NETWORK, seed=1, steps=3, batch=2)
        with compiled(problem, api_level=level) as op:
            _, trace = run_both(op, problem)
            assert_gradients(op, problem, trace)


def test_a_library_of_another_level_is_refused() -> None:
    op = build(4)
    with pytest.raises(CustomOpError, match=r"Api level of module .* is 4, expected 5"):
        CustomOp(op.library, str(op.codelets), [], [])


class TestAttributes:
    good = attributes_of(NETWORK, input_slots=3)

    def compile(self, attributes: str, steps: int = 2) -> CustomOp:
        op = build()
        inputs: Tuple[Any, ...] = (
            *(("int32", (steps, 1, 3)), ("int32", (steps, 1)), ("float32", (6, 4))),
            *[("float32", (4,))] * 3,
            *(("float32", (4, 2)), *[("float32", (2,))] * 3),
        )
        outputs = [("float32", shape) for _, _, shape in output_specs(NETWORK, steps, 1)]
        return CustomOp(
            op.library, str(op.codelets), inputs, outputs, attributes=attributes, tiles_per_ipu=8
        )

    def test_are_read_by_people(self) -> None:
        assert self.good == (
            "ipulse-lif/1 reset=zero reset_gradient=mask reset_on=state delay=0 "
            "surrogate=superspike:10.0 mapping=capacity ipus=1 gradients=weights "
            "input(neurons=6,slots=3) lif(neurons=4,slots=2) leaky(neurons=2,bias)"
        )
        self.compile(self.good).close()

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("ipulse-lif/1", "ipulse-lif/2", "expected 'ipulse-lif/1"),
            ("ipulse-lif/1", "", "expected 'ipulse-lif/1"),
            ("reset=zero", "reset=all", "one of none, subtract, zero; got 'all'"),
            ("reset=zero ", "", "'reset=' is missing"),
            ("delay=0", "delay=2", "one of 0, 1; got '2'"),
            ("delay=0", "delay=0 delay=0", "twice"),
            ("ipus=1", "ipus=x", "whole number of at least 1; got 'x'"),
            ("ipus=1", "ipus=3", "2 layers can use as many IPUs; got ipus=3"),
            ("ipus=1", "ipus=2", "ipus=2 and the graph has 1"),
            ("ipus=1", "ipus=1 split=spikes", "one of layers, neurons; got 'spikes'"),
            ("ipus=1", "ipus=1 speed=9", "no key 'speed'"),
            ("mapping=capacity", "mapping=best", "one of capacity, linear, neurons; got 'best'"),
            ("superspike:10.0", "superspike", "<slope or width>"),
            ("superspike:10.0", "superspike:-1", "greater than 0"),
            ("superspike:10.0", "table:1:0", "table:<width>"),
            ("lif(neurons=4,slots=2)", "lif(neurons=4)", "slots= if it is lif"),
            ("slots=2)", "slots=5)", "at most neurons"),
            ("slots=2)", "slots=2,policy=best)", "one of cyclic, index, top; got 'best'"),
            ("slots=2)", "slots=2,speed=9)", "policy=; got 'speed=9'"),
            (
                "ipus=1 gradients=weights input(neurons=6,slots=3) lif(",
                "ipus=2 split=neurons gradients=weights input(neurons=6,slots=3) lif(policy=top,",
                "layer 1 cannot be on 2",
            ),
            ("gradients=weights", "gradients=inputs", r"weights, and after it \+inputs"),
            ("lif(", "leaky(", "slots=, second_threshold"),
            ("input(neurons=6,slots=3)", "", "needs an input"),
            ("lif(neurons=4,slots=2) ", "", "a hidden layer and a readout"),
            ("leaky(neurons=2,bias)", "leaky(neurons=2)", "9 inputs .*; got 10"),
            ("slots=3", "slots=2", r"ids must have shape \{2,1,2\}; got \{2,1,3\}"),
            ("neurons=4,", "neurons=5,", r"weights\[0\] must have shape \{6,5\}"),
        ],
    )
    def test_wrong_ones_are_reported_with_the_expected_values(
        self, old: str, new: str, words: str
    ) -> None:
        assert old in self.good
        with pytest.raises(CustomOpError, match=words):
            self.compile(self.good.replace(old, new))

    def test_a_network_that_the_op_has_not_is_refused(self) -> None:
        other = Network(
            inputs=6, layers=(LIF(neurons=60001, policy="top"),), readout=LeakyReadout(neurons=2)
        )
        with pytest.raises(UnsupportedNetwork, match="at most 60000 neurons; layer 1 has 60001"):
            PoplarLIF(other, 1, 1, 1)


def test_host_arrays_are_checked() -> None:
    problem = random_problem(NETWORK, seed=1, steps=3, batch=2)
    with compiled(problem) as op:
        bad = problem.ids.copy()
        bad[1, 0, 0] = 6
        with pytest.raises(ValueError, match=r"ids\[1, 0, 0\] is 6"):
            op.forward(problem.weights, bad, np.maximum(problem.counts, 1))
        with pytest.raises(ValueError, match="needs 3 weights; got 2"):
            op.forward(problem.weights[:2], problem.ids, problem.counts)


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_ids_out_of_range_are_ignored_and_counted_on_the_device(dtype: str) -> None:
    """The run is that of the spikes that are left; nothing else is written to."""
    problem = random_problem(NETWORK, seed=1, steps=3, batch=2, slots=3)
    ids = np.array([[0, 6, 1], [-1, 2, 70000], [5, 4, 3]], np.int32)[:, None].repeat(2, axis=1)
    counts = np.array([[3, 2], [3, 7], [-4, 1]], np.int32)
    kept_ids = np.array([[0, 1, 0], [2, 0, 0], [5, 0, 0]], np.int32)[:, None].repeat(2, axis=1)
    kept_counts = np.array([[2, 1], [1, 1], [0, 1]], np.int32)
    wanted = Wanted(input_gradients=dtype == "float32")
    with compiled(problem, wanted=wanted) as op:
        for name, given in (("left", (kept_ids, kept_counts)), ("all", (ids, counts))):
            run = op.forward(problem.weights, *given, checked=name == "left")
            gradients = op.backward(problem.grad_membrane, problem.grad_spikes)
            if name == "left":
                expected, wanted_gradients = run, gradients
    np.testing.assert_array_equal(run.ignored, [[1, 1], [2, 6], [0, 0]])
    assert not expected.ignored.any()
    np.testing.assert_array_equal(run.membrane, expected.membrane)
    np.testing.assert_array_equal(run.layers[0].spike_ids, expected.layers[0].spike_ids)
    for actual, exact in zip(gradients.weights, wanted_gradients.weights):
        np.testing.assert_array_equal(actual, exact)
    if wanted.input_gradients:
        slots = gradients.inputs
        np.testing.assert_array_equal(slots[0, 0, [0, 2]], wanted_gradients.inputs[0, 0, :2])
        np.testing.assert_array_equal(slots[1, :, 1], wanted_gradients.inputs[1, :, 0])
        assert not slots[0, :, 1].any()
        assert not slots[1][:, [0, 2]].any()
        assert not slots[2, 0].any()
