"""Compares a custom op on the emulator with its NumPy reference.

The outputs are compared with `forward` of the reference, in float64. The gradients are compared
with central differences of it, or of its `relaxed` where the gradient is a surrogate: of every
element of a small input, else in random directions.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ipulse_core.errors import InvalidInput, Problem
from poplar_emulator.custom_op import POISON, CustomOp
from poplar_emulator.emulate import SANITIZE
from poplar_emulator.op_project.arrays import in_float64, relative_error
from poplar_emulator.op_project.cpu_op import KernelOp, ReferenceOp
from poplar_emulator.op_project.project import OpProject, TestedTensor, read_project

MOST_ELEMENTS = 64  # of an input with all elements changed
_LAYER_SHAPE = ("steps", "batch", "senders")  # the input of an op that is a layer of a network
DIRECTIONS = 16  # for a larger input
STEP = 1e-4  # of the differences, relative to values around 1
GRADIENT_TOLERANCE = 10  # times the tolerance: a gradient sums rounding errors of the op


class ArrayComparison(NamedTuple):
    """The comparison of one array."""

    what: str
    error: float  # largest difference over the largest value
    tolerance: float

    @property
    def is_good(self) -> bool:
        """True if the error is within the tolerance; an error that is NaN is not."""
        return bool(self.error <= self.tolerance)


class OpComparison(NamedTuple):
    """The comparisons of an op's arrays."""

    name: str
    seed: int
    cycles: int  # of one forward and one backward pass, emulated
    comparisons: List[ArrayComparison]

    @property
    def is_good(self) -> bool:
        """True if all are good."""
        return all(comparison.is_good for comparison in self.comparisons)

    def check(self) -> None:
        """Raise AssertionError that names what differs."""
        wrong = [c for c in self.comparisons if not c.is_good]
        if wrong:
            texts = [f"{c.what}: error {c.error:.2e}, tolerance {c.tolerance:.0e}" for c in wrong]
            raise AssertionError(f"{self.name} (seed {self.seed}): {'; '.join(texts)}")


def compare(folder: Path, seed: int = 0, sanitize: bool = True) -> OpComparison:
    """Build the op of a folder and compare it with its reference.

    Each part that there is, is compared: the Poplar op on the emulator, the kernel for CPUs, and
    the reference's own gradients.

    seed: of the random inputs.
    sanitize: also check that no vertex writes beside its fields.
    Raises InvalidInput, CustomOpError; MissingCompiler, BuildFailed; OSError.
    """
    project = read_project(folder)
    manifest = project.manifest
    reference = ReferenceOp(folder / manifest.reference, manifest.default_attributes)
    random = np.random.RandomState(seed)
    inputs = [_random(random, tensor) for tensor in project.inputs]
    weights = [_random(random, tensor) for tensor in project.outputs]
    judge = _Judge(project, reference, inputs, weights, random)
    cycles = 0
    if manifest.gradients and not manifest.kernel and not manifest.sources:
        reference.require_gradient()  # nothing else could train
    if manifest.inputs[0].shape == _LAYER_SHAPE:
        judge.check_spikes(reference)
    with tempfile.TemporaryDirectory(prefix="poplar-op-") as scratch:
        if manifest.sources:
            options = SANITIZE if sanitize else POISON
            cycles = _compare_poplar(project, judge, Path(scratch), options)
        if manifest.kernel:
            library = project.build_kernel(Path(scratch))
            judge.compare_cpu("kernel's ", KernelOp(library, manifest.default_attributes))
        if callable(reference.gradient) and manifest.gradients:
            judge.compare_gradients("reference's ", judge.cpu_gradients(reference))
    return OpComparison(manifest.name, seed, cycles, judge.comparisons)


def _compare_poplar(
    project: OpProject, judge: _Judge, scratch: Path, options: Mapping[str, str]
) -> int:
    """Compare the op on the emulator, and return its emulated cycles."""
    manifest = project.manifest
    library, codelets = project.build_poplar(scratch)
    fixed = manifest.fixed_gradient_attributes
    with CustomOp(
        library,
        codelets,
        [(tensor.dtype, tensor.shape) for tensor in project.inputs],
        [(tensor.dtype, tensor.shape) for tensor in project.outputs],
        op_name=manifest.op_name,
        attributes=manifest.default_attributes,
        gradient_attributes=manifest.default_attributes if fixed is None else fixed,
        inputs_with_gradients=manifest.gradients,
        tiles_per_ipu=manifest.tiles,
        options=options,
    ) as op:
        outputs = op.forward(judge.inputs)
        judge.compare_outputs("", outputs)
        if manifest.gradients:
            gradients = op.backward(judge.weights, of=(judge.inputs, outputs))
            judge.compare_gradients("", gradients)
        return int(op.profile()["execution"]["totalCycles"]["total"])


def _random(random: np.random.RandomState, tensor: TestedTensor) -> np.ndarray:
    """Return values away from zero, where an op is less likely to have a corner."""
    if tensor.dtype == "bool":
        return random.randint(0, 2, tensor.shape).astype(bool)
    if "int" in tensor.dtype:
        return random.randint(0, 10, tensor.shape).astype(tensor.dtype)
    low, high = tensor.minimum, tensor.maximum
    if low is not None and high is not None:
        return random.uniform(low, high, tensor.shape).astype(tensor.dtype)
    sign = random.choice([-1.0, 1.0], tensor.shape)
    made = (sign * random.uniform(0.25, 1.5, tensor.shape)).astype(tensor.dtype)
    return made if low is None and high is None else np.clip(made, low, high)


class _Judge:
    """Compares outputs and gradients with those of the reference in float64."""

    def __init__(
        self,
        project: OpProject,
        reference: ReferenceOp,
        inputs: List[np.ndarray],
        weights: List[np.ndarray],
        random: np.random.RandomState,
    ) -> None:
        """weights: factors of the outputs in the sum that is differentiated."""
        self._project, self._reference, self._random = project, reference, random
        self.inputs, self.weights = inputs, weights
        self.comparisons: List[ArrayComparison] = []
        self._slopes: Dict[int, Tuple[np.ndarray, np.ndarray]] = {}
        self._outputs: Optional[List[np.ndarray]] = None

    def compare_cpu(self, whose: str, op: KernelOp) -> None:
        """Compare an op on a CPU."""
        self.compare_outputs(whose, self._cpu_outputs(op))
        if self._project.manifest.gradients:
            self.compare_gradients(whose, self.cpu_gradients(op))

    def check_spikes(self, reference: ReferenceOp) -> None:
        """Check that an op of a layer returns spikes, each 0 or 1, where it gets spikes."""
        inputs = list(self.inputs)
        inputs[0] = (np.abs(inputs[0]) < np.median(np.abs(inputs[0]))).astype(inputs[0].dtype)
        attributes = self._project.manifest.default_attributes
        for tensor, made in zip(
            self._project.outputs, self._of_declared_shapes(reference.function(inputs, attributes))
        ):
            error = float(np.max(np.minimum(np.abs(made), np.abs(made - 1))))
            what = f"reference's output {tensor.name} is 0 or 1"
            self.comparisons.append(ArrayComparison(what, error, 0.0))

    def _cpu_outputs(self, op: Union[KernelOp, ReferenceOp]) -> Sequence[np.ndarray]:
        return op.forward(self.inputs, [(t.dtype, t.shape) for t in self._project.outputs])

    def cpu_gradients(self, op: Union[KernelOp, ReferenceOp]) -> Sequence[np.ndarray]:
        """Return the gradients that an op on a CPU computes."""
        wanted = self._project.manifest.gradients
        return op.backward(self.weights, self.inputs, self._cpu_outputs(op), wanted)

    def compare_outputs(self, whose: str, outputs: Sequence[np.ndarray]) -> None:
        """Compare the outputs."""
        tolerance = self._project.manifest.tolerance
        for tensor, output, exact in zip(
            self._project.outputs, outputs, self._forward(in_float64(self.inputs))
        ):
            what = f"{whose}output {tensor.name}"
            self.comparisons.append(ArrayComparison(what, relative_error(output, exact), tolerance))

    def compare_gradients(self, whose: str, gradients: Sequence[np.ndarray]) -> None:
        """Compare directional derivatives of the outputs' sum with the weights."""
        manifest = self._project.manifest
        tolerance = max(GRADIENT_TOLERANCE * manifest.tolerance, 10 * STEP**2)
        for index, gradient in zip(manifest.gradients, gradients):
            directions, slopes = self._slopes_of(index)
            found = directions @ gradient.astype(np.float64).reshape(-1)
            what = f"{whose}gradient of {self._project.inputs[index].name}"
            self.comparisons.append(ArrayComparison(what, relative_error(found, slopes), tolerance))

    def _slopes_of(self, index: int) -> Tuple[np.ndarray, np.ndarray]:
        """Return directions of an input, and the slopes in them."""
        if index not in self._slopes:
            exact = in_float64(self.inputs)
            size, shape = exact[index].size, exact[index].shape
            directions = (
                np.eye(size)
                if size <= MOST_ELEMENTS
                else self._random.normal(size=(DIRECTIONS, size))
            )
            slopes = [
                (self._objective(index, STEP * d) - self._objective(index, -STEP * d)) / (2 * STEP)
                for d in (direction.reshape(shape) for direction in directions)
            ]
            self._slopes[index] = directions, np.array(slopes)
        return self._slopes[index]

    def _objective(self, index: int, change: np.ndarray) -> float:
        changed = in_float64(self.inputs)
        changed[index] = changed[index] + change
        outputs = self._differentiable(changed)
        return float(sum(np.sum(w * o) for w, o in zip(in_float64(self.weights), outputs)))

    def _forward(self, inputs: Sequence[np.ndarray]) -> List[np.ndarray]:
        attributes = self._project.manifest.default_attributes
        return self._of_declared_shapes(self._reference.function(inputs, attributes))

    def _differentiable(self, inputs: Sequence[np.ndarray]) -> List[np.ndarray]:
        """Return the outputs of `relaxed` at `inputs`, or those of `forward` without it."""
        relaxed = self._reference.relaxed
        if relaxed is None:
            return self._forward(inputs)
        if self._outputs is None:
            self._outputs = self._forward(in_float64(self.inputs))
        attributes = self._project.manifest.default_attributes
        return self._of_declared_shapes(relaxed(inputs, self._outputs, attributes))

    def _of_declared_shapes(self, made: Any) -> List[np.ndarray]:
        outputs = [np.asarray(array) for array in made]
        shapes = [output.shape for output in outputs]
        expected = [tensor.shape for tensor in self._project.outputs]
        if shapes != expected:
            detail = f"it returns arrays of shapes {shapes}; {expected} are declared"
            raise InvalidInput([Problem("/outputs", "wrong_shape", f"the reference: {detail}")])
        return outputs
