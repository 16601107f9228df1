"""Custom ops as TensorFlow calls them: checks of their metadata, and gradients."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, List, Sequence, Tuple

import numpy as np
import pytest
import tensorflow as tf

from poplar_emulator.custom_op import CustomOp, CustomOpError
from poplar_emulator.user_op import EmulatedIPUs
from tests.emulator.compiled import PROGRAMS, compile_program

SOURCE = PROGRAMS / "user_ops.cpp"
SHAPE = (3, 4)
X = np.arange(12, dtype=np.float32).reshape(SHAPE) - 5


@pytest.fixture(scope="module")
def library() -> Path:
    """The library of programs/user_ops.cpp, compiled as a custom op."""
    return compile_program(SOURCE, shared=True)


def compiled(
    library: Path, name: str, inputs: int = 1, output: Tuple[int, ...] = SHAPE, **options: Any
) -> CustomOp:
    given, made = [("float32", SHAPE)] * inputs, [("float32", output)]
    return CustomOp(library, "", given, made, op_name=name, tiles_per_ipu=8, **options)


class TestPromises:
    def test_correct_metadata_is_accepted(
        self, library: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        for name in ("Elementwise", "InPlace"):
            with compiled(library, name) as op:
                np.testing.assert_array_equal(op.forward([X])[0], 2 * X, err_msg=name)
        assert "six parameters" not in capfd.readouterr().err

    @pytest.mark.parametrize("name", ["SixFlags", "SixAliases"])
    def test_six_parameters_are_ignored_with_a_warning(
        self, library: Path, tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        own = shutil.copy(library, tmp_path / "library.so")  # what is known of one is kept
        with compiled(own, name) as op:
            np.testing.assert_array_equal(op.forward([X])[0], 2 * X)
        assert f"{name}_metadata has six parameters" in capfd.readouterr().err

    def test_one_function_of_six_parameters_voids_the_metadata_of_all(
        self, library: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        own = shutil.copy(library, tmp_path / "library.so")
        with compiled(own, "SixOfGradient", inputs_with_gradients=[0]) as op:
            np.testing.assert_array_equal(op.forward([X])[0], 2 * X)
            np.testing.assert_array_equal(op.backward([X])[0], 2 * X)
        assert "SixOfGradient_metadata has six parameters" in capfd.readouterr().err
        compiled(own, "OtherTile")  # whose metadata would be a reason to warn
        assert "warning" not in capfd.readouterr().err

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("OtherTile", "element 0 is on tile 3 where that is on tile 0"),
            ("OtherShape", "it is {4,3} where that is {3,4}"),
        ],
    )
    def test_a_wrong_is_elementwise_is_a_warning(
        self, library: Path, name: str, words: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        shape = (4, 3) if name == "OtherShape" else SHAPE
        with compiled(library, name, output=shape) as op:
            found = op.forward([X])[0]
            np.testing.assert_array_equal(found, 2 * (X.T if name == "OtherShape" else X))
        said = capfd.readouterr().err
        assert f"{name}_metadata: is_elementwise promises" in said
        assert words in said

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("NoAlias", r"aliasing promises that output 0 is input 0 changed in place, and it is"),
            ("OutOfRange", r"replica_identical_output_indices has 1, and the op has 1 outputs"),
        ],
    )
    def test_wrong_metadata_is_rejected_at_compilation(
        self, library: Path, name: str, words: str
    ) -> None:
        with pytest.raises(CustomOpError, match=rf"{name}_metadata: .*{words}"):
            compiled(library, name)

    def test_an_undeclared_write_to_an_input_is_rejected_at_run_time(self, library: Path) -> None:
        with compiled(library, "SecretlyInPlace") as op, pytest.raises(
            CustomOpError, match=r"SecretlyInPlace writes to its input 0, which .* does not say"
        ):
            op.forward([X])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("OutOfBounds", r"\[Poplar\]\[Build graph\] index_error: slice \[2,9\)"),
        ("Unmapped", r"\[Poplar\]\[Compile engine\] invalid_tile_mapping: .*'lost'"),
        ("Aborting", r"\[Poplar\]\[Execute engine\] application_runtime_error: .*no further"),
    ],
)
def test_an_error_names_poplar_s_stage(library: Path, name: str, words: str) -> None:
    with pytest.raises(CustomOpError, match=rf"^{words}"), compiled(library, name) as op:
        op.forward([X])


def test_each_input_may_have_a_gradient_op_of_its_own(library: Path) -> None:
    gradients = {"inputs_with_gradients": [0, 1], "separate_gradients": True}
    with compiled(library, "Sum", 2, **gradients) as op:
        np.testing.assert_array_equal(op.forward([X, X])[0], 3 * X)
        by_a, by_b = op.backward([X])
        np.testing.assert_array_equal(by_a, X)
        np.testing.assert_array_equal(by_b, 2 * X)
    with pytest.raises(CustomOpError, match="mismatched outputs number, expected: 2, returned: 1"):
        compiled(library, "Sum", 2, inputs_with_gradients=[0, 1])


def moved(op: CustomOp) -> List[Tuple[str, int, int]]:
    """Return name, bytes from the host and bytes to it of every copy that ran."""
    profile = op.profile()
    names = {program["_id"]: program["name"] for program in profile["compilation"]["programs"]}
    totals = profile["execution"]["totals"]
    copies = [total for total in totals if "bytesToHost" in total]
    return [(names[t["program"]], t["bytesFromHost"], t["bytesToHost"]) for t in copies]


def test_streamed_tensors_are_copied_and_change_no_result(library: Path) -> None:
    gradients = {"inputs_with_gradients": [0, 1], "separate_gradients": True}
    with compiled(library, "Sum", 2, streamed_inputs=[1], streamed_outputs=[0], **gradients) as op:
        np.testing.assert_array_equal(op.forward([X, X + 1])[0], 3 * X + 2)
        np.testing.assert_array_equal(op.forward([X, X])[0], 3 * X)
        by_a, by_b = op.backward([X])
        np.testing.assert_array_equal(by_a, X)
        np.testing.assert_array_equal(by_b, 2 * X)
        assert sorted(moved(op)) == [
            ("backward/to_host/0", 0, X.nbytes),
            ("backward/to_host/1", 0, X.nbytes),
            ("from_host/1", 2 * X.nbytes, 0),
            ("to_host/0", 0, 2 * X.nbytes),
        ]


@pytest.mark.old_python
class TestInTensorFlow:
    def call(self, library: Path, inputs: Sequence[Any], name: str, **options: Any) -> List[Any]:
        outs = {"output_types": [tf.float32], "output_shapes": [tf.TensorShape(SHAPE)]}
        ipus = EmulatedIPUs(tiles_per_ipu=8)
        return ipus.precompiled_user_op(inputs, str(library), outs=outs, op_name=name, **options)

    @pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "traced"])
    def test_gradients(self, library: Path, wrap: Callable[[Any], Any]) -> None:
        def both(a: Any, b: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch([a, b])
                (actual,) = self.call(library, [a, b], "Sum", separate_gradients=True)
                loss = tf.reduce_sum(actual * actual)
            return actual, tape.gradient(loss, [a, b])

        actual, by = wrap(both)(tf.constant(X), tf.constant(X + 1))
        np.testing.assert_array_equal(actual, 3 * X + 2)
        np.testing.assert_array_equal(by[0], 2 * (3 * X + 2))
        np.testing.assert_array_equal(by[1], 4 * (3 * X + 2))

    def test_calls_from_several_threads_do_not_mix(self, library: Path) -> None:
        """A graph's threads may run a forward pass between another call's passes."""
        ipus = EmulatedIPUs(tiles_per_ipu=8)
        outs = {"output_types": [tf.float32], "output_shapes": [tf.TensorShape(SHAPE)]}
        options = {"outs": outs, "op_name": "Sum", "separate_gradients": True}

        def one(n: int) -> None:
            a = tf.constant(X + n)
            with tf.GradientTape() as tape:
                tape.watch(a)
                (actual,) = ipus.precompiled_user_op([a, 2 * a], str(library), **options)
                loss = tf.reduce_sum(actual * actual)
            np.testing.assert_array_equal(actual, 5 * (X + n))
            np.testing.assert_array_equal(tape.gradient(loss, a), 50 * (X + n))

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(one, range(100)))

    def test_an_input_that_is_not_listed_has_no_gradient(self, library: Path) -> None:
        a = tf.constant(X)
        with tf.GradientTape() as tape:
            tape.watch(a)
            options = {"separate_gradients": True, "inputs_with_gradients": [1]}
            (actual,) = self.call(library, [a, tf.constant(X)], "Sum", **options)
        assert tape.gradient(actual, a) is None

    def test_every_pass_of_a_loop_has_its_own_gradient(self, library: Path) -> None:
        """x <- x^2 + 2 b, three times: the op's inputs are others each time."""

        def looped(x: Any, b: Any) -> Any:
            def body(x: Any) -> Any:
                return self.call(library, [x * x, b], "Sum", separate_gradients=True)[0]

            return tf.while_loop(lambda x: True, lambda x: (body(x),), (x,), maximum_iterations=3)

        @tf.function
        def gradient(x: Any, b: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch([x, b])
                loss = tf.reduce_sum(looped(x, b)[0])
            return tape.gradient(loss, [x, b])

        x, b = X / 16, X / 32
        by_x, by_b = gradient(tf.constant(x), tf.constant(b))
        x1 = x * x + 2 * b
        x2 = x1 * x1 + 2 * b
        np.testing.assert_allclose(by_x, 8 * x * x1 * x2, rtol=1e-6)
        np.testing.assert_allclose(by_b, 2 + 4 * x2 + 8 * x1 * x2, rtol=1e-6)

    def test_shapes_must_be_known(self, library: Path) -> None:
        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
        def run(x: Any) -> Any:
            return self.call(library, [x], "Elementwise")

        with pytest.raises(ValueError, match="must be known while tracing"):
            run(X)


class TestCounts:
    """An output that is a whole number gets no gradient inside a while loop, and the gradient op
    takes no None: counts travel as float."""

    def gradient(self, library: Path, name: str, dtype: Any, passes: int) -> Any:
        ipus = EmulatedIPUs(tiles_per_ipu=8)
        shapes = [tf.TensorShape(SHAPE), tf.TensorShape((3, 1))]
        outs = {"output_types": [tf.float32, dtype], "output_shapes": shapes}

        def once(x: Any) -> Any:
            return ipus.precompiled_user_op([x], str(library), outs=outs, op_name=name)[0]

        @tf.function
        def run(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                if passes:
                    (x_after,) = tf.while_loop(
                        lambda x: True, lambda x: (once(x),), (x,), maximum_iterations=passes
                    )
                else:
                    x_after = once(x)
                loss = tf.reduce_sum(x_after)
            return tape.gradient(loss, x)

        return run(tf.constant(X))

    def test_integer_counts_break_the_gradient_in_a_loop(self, library: Path) -> None:
        words = (
            r"Tensors in list passed to 'input' of '\w+' Op have types "
            r"\[float32, <NOT CONVERTIBLE TO TENSOR>, float32, int32, float32\] that are invalid"
        )
        with pytest.raises(TypeError, match=words):
            self.gradient(library, "WholeCount", tf.int32, passes=3)

    def test_integer_counts_are_fine_outside_a_loop(self, library: Path) -> None:
        actual = self.gradient(library, "WholeCount", tf.int32, passes=0)
        np.testing.assert_array_equal(actual, np.full(SHAPE, 2.0))

    def test_float_counts_are_fine_in_a_loop(self, library: Path) -> None:
        actual = self.gradient(library, "FloatCount", tf.float32, passes=3)
        np.testing.assert_array_equal(actual, np.full(SHAPE, 8.0))
