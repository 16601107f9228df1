"""Losses with equations on the tiles of an emulated IPU, compared with NumPy."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, Tuple

import numpy as np
import pytest

from ipulse_core.build_cache.toolchain import compiler, run_compiler
from ipulse_core.equations.loss import RIGHT, LossEquations
from ipulse_ops.equations.loss import LossEvaluator, LossValues
from ipulse_ops.equations.poplar_loss_source import loss_vertex
from ipulse_ops.lif.poplar.sources import SOURCES
from poplar_emulator import build as emulator
from poplar_emulator.custom_op import POISON, CustomOp
from poplar_emulator.op_project.project import LIBRARY_FLAGS
from tests.losses import cross_entropy, loss_of, margin, random_loss

pytestmark = pytest.mark.verify

STEPS, BATCH, CLASSES, TILES = 6, 5, 4, 4
NO_FUNCTIONS = {
    "label": loss_of(margin()),
    "target": loss_of(
        {
            "loss": "sum(abs(max_over_time(membrane) - target)) + mean(sqrt(1 + square(far)))",
            "values": [{"name": "far", "value": "sum_over_time(t * membrane) / steps"}],
        }
    ),
    "step_target": loss_of(
        {"loss": "mean_over_time(largest(square(membrane - step_target))) / classes"}
    ),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = emulator.build()
    path = tmp_path_factory.mktemp("loss") / "libloss.so"
    sources = [str(Path(__file__).with_name("loss_op.cc")), str(SOURCES / "backward/own_loss.cc")]
    flags = [*LIBRARY_FLAGS, f"-I{SOURCES}", *sources, "-o", str(path)]
    run_compiler([*compiler(), *flags, *emulator.program_flags(prefix)])
    return path


def data(equations: LossEquations) -> Tuple[np.ndarray, np.ndarray]:
    """Return a membrane, and labels or targets."""
    rng = np.random.default_rng(4)
    membrane = rng.normal(size=(STEPS, BATCH, CLASSES)).astype(np.float32)
    if "label" in equations.reads:
        return membrane, rng.integers(0, CLASSES, BATCH).astype(np.int32)
    shape = (BATCH, CLASSES) if "target" in equations.reads else (BATCH, STEPS, CLASSES)
    return membrane, rng.normal(size=shape).astype(np.float32)


def on_tiles(library: Path, equations: LossEquations, mask: np.ndarray) -> Any:
    """Return the losses, and the gradient of their mean over the samples that count."""
    vertex = loss_vertex(equations)
    source = library.with_name("loss.cpp")
    source.write_text(vertex.codelet, "utf-8")
    codelets = str(library.with_name("loss.gp"))
    run_compiler([str(emulator.build() / emulator.POPC), "-O3", str(source), "-o", codelets])
    membrane, right = data(equations)
    inputs = [membrane, right, mask]
    op = CustomOp(
        library,
        codelets,
        [(each.dtype.name, each.shape) for each in inputs],
        [("float32", (BATCH,)), ("float32", membrane.shape)],
        attributes=f"{RIGHT.index(vertex.right)} {vertex.class_rows} {vertex.step_rows}",
        tiles_per_ipu=TILES,
        options=POISON,
    )
    found = op.forward(inputs)
    op.close()
    return found


def in_numpy(equations: LossEquations, kind: Any) -> LossValues:
    membrane, right = data(equations)
    return LossEvaluator(equations, CLASSES, STEPS, kind)({"membrane": membrane}, right)


@pytest.mark.parametrize("name", NO_FUNCTIONS)
def test_sums_and_products_have_the_bits_of_float32(library: Path, name: str) -> None:
    """Four samples count, so that a sample's share is a power of two."""
    equations, mask = NO_FUNCTIONS[name], np.float32([1, 1, 0, 1, 1])
    losses, gradient = on_tiles(library, equations, mask)
    wanted = in_numpy(equations, np.float32)
    np.testing.assert_array_equal(losses, wanted.loss)
    np.testing.assert_array_equal(gradient, wanted.gradients["membrane"] * (mask / 4)[:, None])


@pytest.mark.parametrize("seed", [None, *range(6)])
def test_other_losses_are_near_float64(library: Path, seed: Any) -> None:
    """The tiles' exp, log and tanh may differ from the nearest number by their last bits."""
    equations = loss_of(cross_entropy())
    if seed is not None:
        equations = random_loss(Random(seed), RIGHT[seed % 3])
    losses, gradient = on_tiles(library, equations, np.ones(BATCH, np.float32))
    for kind, tolerance in ((np.float32, 2e-6), (np.float64, 2e-5)):
        wanted = in_numpy(equations, kind)
        near = {"rtol": tolerance, "atol": tolerance}
        np.testing.assert_allclose(losses, wanted.loss, **near)
        np.testing.assert_allclose(BATCH * gradient, wanted.gradients["membrane"], **near)


def test_padding_without_a_finite_loss_has_no_gradient(library: Path) -> None:
    equations = loss_of({"loss": "sum(label * log(0 * last(membrane)))"})
    losses, gradient = on_tiles(library, equations, np.float32([1, 0, 0, 0, 0]))
    assert not np.isfinite(losses).any()
    assert np.isnan(gradient[:, 0]).any()
    assert not gradient[:, 1:].any()
