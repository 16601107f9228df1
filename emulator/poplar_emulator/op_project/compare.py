"""Compares a custom op on the emulator with its NumPy reference.

The outputs are compared with `forward` of the reference, in float64. The gradients are compared
with central differences of it: of every element of a small input, else in random directions.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any, Callable, List, NamedTuple, Sequence

import numpy as np

from ipulse_core.build_cache.toolchain import compiler, run_compiler
from ipulse_core.errors import InvalidInput, Problem
from poplar_emulator.build import POPC, build, program_flags
from poplar_emulator.custom_op import POISON, CustomOp
from poplar_emulator.emulate import SANITIZE
from poplar_emulator.op_project.manifest import OpManifest, TensorSpec, read_manifest

MOST_ELEMENTS = 64  # of an input with all elements changed
DIRECTIONS = 16  # for a larger input
STEP = 1e-4  # of the differences, relative to values around 1
GRADIENT_TOLERANCE = 10  # times the tolerance: a gradient sums rounding errors of the op

Forward = Callable[[Sequence[np.ndarray], str], List[np.ndarray]]


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
    """Build the op of a folder for the emulator and compare it with its reference.

    seed: of the random inputs.
    sanitize: also check that no vertex writes beside its fields.
    Raises InvalidInput, CustomOpError; MissingCompiler, BuildFailed; OSError.
    """
    manifest = read_manifest(folder)
    forward = _load_reference(manifest)
    random = np.random.RandomState(seed)
    inputs = [_random(random, tensor) for tensor in manifest.inputs]
    with tempfile.TemporaryDirectory(prefix="poplar-op-") as scratch:
        library, codelets = _build(manifest, Path(scratch))
        with CustomOp(
            library,
            codelets,
            [(tensor.dtype, tensor.shape) for tensor in manifest.inputs],
            [(tensor.dtype, tensor.shape) for tensor in manifest.outputs],
            op_name=manifest.op_name,
            attributes=manifest.attributes,
            gradient_attributes=manifest.gradient_attributes,
            inputs_with_gradients=manifest.gradients,
            tiles_per_ipu=manifest.tiles,
            options=SANITIZE if sanitize else POISON,
        ) as op:
            outputs = op.forward(inputs)
            comparisons = _compare_outputs(manifest, forward, inputs, outputs)
            if manifest.gradients:
                weights = [_random(random, tensor) for tensor in manifest.outputs]
                gradients = op.backward(weights, of=(inputs, outputs))
                comparisons += _compare_gradients(
                    manifest, forward, inputs, weights, gradients, random
                )
            cycles = int(op.profile()["execution"]["totalCycles"]["total"])
    return OpComparison(manifest.name, seed, cycles, comparisons)


def _build(manifest: OpManifest, scratch: Path) -> Any:
    """Compile both parts; return the paths of the library and of the codelets, if there are any."""
    prefix = build()
    library = scratch / f"lib{manifest.name}.so"
    sources = [str(path) for path in manifest.sources]
    flags = ["-O1", "-shared", "-fPIC", *sources, "-o", str(library), *program_flags(prefix)]
    run_compiler([*compiler(), *flags])
    if not manifest.codelets:
        return library, ""
    codelets = scratch / f"{manifest.name}.gp"
    listed = [str(path) for path in manifest.codelets]
    run_compiler([str(prefix / POPC), "-O3", *listed, "-o", str(codelets)])
    return library, str(codelets)


def _load_reference(manifest: OpManifest) -> Forward:
    spec = importlib.util.spec_from_file_location(f"{manifest.name}_reference", manifest.reference)
    if spec is None or spec.loader is None:
        raise InvalidInput([Problem("/reference", "invalid", "not a Python file")])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    forward: Any = getattr(module, "forward", None)
    if not callable(forward):
        detail = f"{manifest.reference.name} does not define forward(inputs, attributes)"
        raise InvalidInput([Problem("/reference", "invalid", detail)])
    return forward  # type: ignore[no-any-return] # its signature is the user's


def _random(random: np.random.RandomState, tensor: TensorSpec) -> np.ndarray:
    """Return values away from zero, where an op is less likely to have a corner."""
    if tensor.dtype == "bool":
        return random.randint(0, 2, tensor.shape).astype(bool)
    if "int" in tensor.dtype:
        return random.randint(0, 10, tensor.shape).astype(tensor.dtype)
    sign = random.choice([-1.0, 1.0], tensor.shape)
    return (sign * random.uniform(0.25, 1.5, tensor.shape)).astype(tensor.dtype)


def _reference(
    manifest: OpManifest, forward: Forward, inputs: Sequence[np.ndarray]
) -> List[np.ndarray]:
    outputs = [np.asarray(output) for output in forward(inputs, manifest.attributes)]
    shapes = [output.shape for output in outputs]
    expected = [tensor.shape for tensor in manifest.outputs]
    if shapes != expected:
        detail = f"it returns arrays of shapes {shapes}; {expected} are declared"
        raise InvalidInput([Problem("/outputs", "wrong_shape", f"the reference: {detail}")])
    return outputs


def _exact(arrays: Sequence[np.ndarray]) -> List[np.ndarray]:
    return [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]


def _compare_outputs(
    manifest: OpManifest,
    forward: Forward,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
) -> List[ArrayComparison]:
    expected = _reference(manifest, forward, _exact(inputs))
    return [
        ArrayComparison(f"output {tensor.name}", _error(output, exact), manifest.tolerance)
        for tensor, output, exact in zip(manifest.outputs, outputs, expected)
    ]


def _compare_gradients(
    manifest: OpManifest,
    forward: Forward,
    inputs: Sequence[np.ndarray],
    weights: Sequence[np.ndarray],
    gradients: Sequence[np.ndarray],
    random: np.random.RandomState,
) -> List[ArrayComparison]:
    """Compare directional derivatives of the outputs' sum with these weights."""
    exact = _exact(inputs)

    def objective(index: int, change: np.ndarray) -> float:
        changed = [*exact]
        changed[index] = exact[index] + change
        outputs = _reference(manifest, forward, changed)
        return float(sum(np.sum(w * o) for w, o in zip(_exact(weights), outputs)))

    comparisons = []
    for index, gradient in zip(manifest.gradients, gradients):
        size, shape = exact[index].size, exact[index].shape
        directions = (
            np.eye(size) if size <= MOST_ELEMENTS else random.normal(size=(DIRECTIONS, size))
        )
        slopes = [
            (objective(index, STEP * d) - objective(index, -STEP * d)) / (2 * STEP)
            for d in (direction.reshape(shape) for direction in directions)
        ]
        found = directions @ gradient.astype(np.float64).reshape(-1)
        tolerance = max(GRADIENT_TOLERANCE * manifest.tolerance, 10 * STEP**2)
        what = f"gradient of {manifest.inputs[index].name}"
        comparisons.append(ArrayComparison(what, _error(found, np.array(slopes)), tolerance))
    return comparisons


def _error(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference over the largest expected value, or NaN."""
    difference = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    scale = float(np.max(np.abs(expected.astype(np.float64)))) or 1.0
    return float(np.max(difference)) / scale
