"""What TensorFlow for the IPU finds in the op's library, at both levels of its interface."""

from __future__ import annotations

import ctypes
import re
import subprocess
from typing import Any, Tuple

import numpy as np
import pytest

from ops.emulator.custom_op import CustomOp, CustomOpError
from ops.lif.network import LIF, LeakyReadout, Network
from ops.lif.poplar.arrays import PoplarLIF, output_specs
from ops.lif.poplar.attributes import UnsupportedNetwork, attributes_of
from ops.lif.poplar.build import build
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
            ("ipus=1", "ipus=1 speed=9", "no key 'speed'"),
            ("superspike:10.0", "superspike", "<slope or width>"),
            ("superspike:10.0", "superspike:-1", "greater than 0"),
            ("superspike:10.0", "table:1:0", "table:<width>"),
            ("lif(neurons=4,slots=2)", "lif(neurons=4)", "slots= if it is lif"),
            ("slots=2)", "slots=5)", "at most neurons"),
            ("slots=2)", "slots=2,policy=top)", "got 'policy=top'"),
            ("lif(", "leaky(", "slots=, second_threshold"),
            ("input(neurons=6,slots=3)", "", "needs an input"),
            ("leaky(neurons=2,bias)", "", "a readout"),
            ("leaky(neurons=2,bias)", "leaky(neurons=2)", "9 inputs .*; got 10"),
            ("slots=3", "slots=2", r"ids must have shape \{2,1,2\}; got \{2,1,3\}"),
            ("neurons=4,", "neurons=5,", r"weights\[0\] must have shape \{6,5\}"),
        ],
    )
    def test_wrong_ones_are_told_what_was_expected(self, old: str, new: str, words: str) -> None:
        assert old in self.good
        with pytest.raises(CustomOpError, match=words):
            self.compile(self.good.replace(old, new))

    def test_a_network_that_the_op_has_not_is_refused(self) -> None:
        other = Network(
            inputs=6, layers=(LIF(neurons=4, policy="top"),), readout=LeakyReadout(neurons=2)
        )
        with pytest.raises(UnsupportedNetwork, match="layer 0 has top"):
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
