"""Losses with equations on the tiles of an emulated IPU, compared with NumPy."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
import pytest

from ipulse_core.build_cache.toolchain import compiler, run_compiler
from ipulse_core.equations.axes import CLASSES as AXIS_OF_CLASSES
from ipulse_core.equations.axes import TIME, neurons_axis
from ipulse_core.equations.loss import RIGHT, LayerValue, LossEquations, read_loss
from ipulse_ops.equations.loss import LossEvaluator, LossValues
from ipulse_ops.equations.poplar_loss_source import LossVertex, loss_vertex
from ipulse_ops.lif.poplar.sources import SOURCES
from poplar_emulator import build as emulator
from poplar_emulator.custom_op import POISON, CustomOp
from poplar_emulator.op_project.project import LIBRARY_FLAGS
from tests.equations import Described
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


class Values(NamedTuple):
    """Membranes of a layer, or ids and counts of its spikes."""

    what: str
    neurons: int
    arrays: List[np.ndarray]


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


def vertex_on_tiles(
    library: Path, vertex: LossVertex, right: np.ndarray, mask: np.ndarray, read: Sequence[Values]
) -> List[np.ndarray]:
    """Return losses, penalties, and the gradients of their means by what is read."""
    source = library.with_name("loss.cpp")
    source.write_text(vertex.codelet, "utf-8")
    codelets = str(library.with_name("loss.gp"))
    run_compiler([str(emulator.build() / emulator.POPC), "-O3", str(source), "-o", codelets])
    inputs = [right, mask, *(array for values in read for array in values.arrays)]
    numbers = (vertex.class_rows, vertex.step_rows, vertex.neuron_values)
    words = [RIGHT.index(vertex.right), CLASSES, *numbers]
    words += [word for values in read for word in (values.what, values.neurons)]
    by_sample = ("float32", (BATCH,))
    op = CustomOp(
        library,
        codelets,
        [(each.dtype.name, each.shape) for each in inputs],
        [by_sample, by_sample, *(("float32", values.arrays[0].shape) for values in read)],
        attributes=" ".join(map(str, words)),
        tiles_per_ipu=TILES,
        options=POISON,
    )
    found = op.forward(inputs)
    op.close()
    return found


def on_tiles(library: Path, equations: LossEquations, mask: np.ndarray) -> Any:
    """Return the losses, and the gradient of their mean over the samples that count."""
    membrane, right = data(equations)
    read = [Values("membrane", CLASSES, [membrane])]
    found, penalty, gradient = vertex_on_tiles(library, loss_vertex(equations), right, mask, read)
    assert not penalty.any()
    return found, gradient


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


SIZES = {"layers[0]": 7, "features": CLASSES, "readout": CLASSES}
SLOTS = 5
PENALTIES = [
    "mean(mean_over_time(layers[0].membrane * layers[0].spikes))",
    "logsumexp(last(layers[0].membrane)) + largest(max_over_time(features.membrane))",
    "mean_over_time(sum(softmax(layers[0].membrane) * layers[0].spikes)) + mean(spike_count)",
    "last(mean(features.spikes * label)) + square(mean(mean_over_time(readout.spikes)))",
    "mean(square(mean_over_time(layers[0].spikes) - mean_over_time(t) / steps))",
    "mean(detach(sum_over_time(features.spikes)))",
]


def of_layers() -> Dict[str, LayerValue]:
    found = {}
    for index, (name, size) in enumerate(SIZES.items()):
        axis = AXIS_OF_CLASSES if size == CLASSES else neurons_axis(size)
        for what in ("membrane", "spikes"):
            key, axes = f"{name}.{what}", frozenset({TIME, axis})
            found[key] = LayerValue(index, what, axes, key, name == "readout")
    return found


def equations_of(result: str, text: str) -> LossEquations:
    more = {"prediction": None} if result == "loss" else {}
    described = Described(name="own", parameters=[], values=[], **{result: text}, **more)
    return read_loss(described, of_layers())


def drawn(rng: np.random.Generator, what: str, neurons: int) -> Values:
    """Return values of a layer, of which some slots carry gradients alone."""
    if what == "membrane":
        array = rng.normal(size=(STEPS, BATCH, neurons)).astype(np.float32)
        return Values(what, neurons, [array])
    ids = np.argsort(rng.random((STEPS, BATCH, neurons)), axis=2)[:, :, : min(SLOTS, neurons)]
    filled = rng.integers(0, ids.shape[2] + 1, (STEPS, BATCH))
    counts = np.stack([rng.integers(0, filled + 1), filled], axis=2)
    ids = np.where(np.arange(ids.shape[2]) < filled[:, :, None], ids, 70000)  # never read
    return Values(what, neurons, [ids.astype(np.float32), counts.astype(np.float32)])


def trains(values: Values) -> np.ndarray:
    """Return 1 where a neuron spikes."""
    ids, counts = values.arrays
    found = np.zeros((STEPS, BATCH, values.neurons))
    for t, b in np.ndindex(STEPS, BATCH):
        found[t, b, ids[t, b, : int(counts[t, b, 0])].astype(int)] = 1
    return found


def in_slots(gradient: np.ndarray, values: Values) -> np.ndarray:
    """Return the gradient of the neurons in filled slots."""
    ids, counts = values.arrays
    known = np.arange(ids.shape[2]) < counts[:, :, 1:]
    by_slot = np.take_along_axis(gradient, np.where(known, ids, 0).astype(int), axis=2)
    return np.asarray(np.where(known, by_slot, 0))


@pytest.mark.parametrize("number", range(len(PENALTIES)))
def test_layers_and_penalties_are_near_float64(library: Path, number: int) -> None:
    rng, strength, spiking = np.random.default_rng(number), 0.3, number in (2, 3)
    score = "spike_count" if spiking else "last(membrane)"
    loss = equations_of("loss", f"mean(square({score} - label))")
    penalties = [(strength, equations_of("penalty", text)) for text in PENALTIES[number:][:2]]
    vertex = loss_vertex(loss, penalties, readout=2)
    sizes = list(SIZES.values())
    read = {(what, layer): drawn(rng, what, sizes[layer]) for what, layer in vertex.reads}
    right = rng.integers(0, CLASSES, BATCH).astype(np.int32)
    mask = np.float32([1, 0, 1, 1, 1])
    losses, penalty, *gradients = vertex_on_tiles(library, vertex, right, mask, list(read.values()))
    dense = {
        place: trains(values) if place[0] == "spikes" else values.arrays[0]
        for place, values in read.items()
    }
    by_name = {f"{list(SIZES)[layer]}.{what}": array for (what, layer), array in dense.items()}
    wanted = {name: np.zeros(array.shape) for name, array in by_name.items()}
    sums = []
    for factor, equations in ((1.0, loss), *penalties):
        inputs = {value.key: by_name[value.key] for _, value in equations.layers}
        if "membrane" in equations.reads:
            inputs["membrane"] = by_name["readout.membrane"]
        if "spike_count" in equations.reads:
            inputs["spike_count"] = by_name["readout.spikes"].sum(axis=0)
        found = LossEvaluator(equations, CLASSES, STEPS)(inputs, right)
        sums.append(factor * found.loss)
        for name, gradient in found.gradients.items():
            key = {"membrane": "readout.membrane", "spike_count": "readout.spikes"}.get(name, name)
            wanted[key] += factor * gradient
    near = {"rtol": 2e-5, "atol": 2e-5}
    np.testing.assert_allclose(losses, sums[0], **near)
    np.testing.assert_allclose(penalty, sum(sums[1:]), **near)
    for ours, theirs, (place, values) in zip(gradients, wanted.values(), read.items()):
        theirs = theirs * (mask / mask.sum())[:, None]
        expected = in_slots(theirs, values) if place[0] == "spikes" else theirs
        np.testing.assert_allclose(ours, expected, **near)
