"""Runs a layer with equations on the tiles of an emulated IPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ipulse_core.build_cache.build_once import Steps, build_once
from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.progress import ProgressCallback, print_progress
from ipulse_core.build_cache.toolchain import compiler, run_compiler, version_of
from ipulse_core.build_cache.unused_builds import mark_used
from ipulse_core.errors import InvalidInput
from ipulse_ops.equations.kernel import KernelTrace, SpikeTrace, hash_of
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.equations.poplar_source import CODELETS_FILE, GRAPH_FILE, poplar_sources
from ipulse_ops.equations.source import GENERATOR

LIBRARY, CODELETS = "libequations.so", "equations.gp"


def build_poplar_equations(
    layer: LayerEquations, progress: ProgressCallback = print_progress
) -> Path:
    """Return the folder with library and codelets of a layer; build them unless they are cached.

    Raises MissingCompiler, BuildFailed, MissingEmulator.
    """
    from poplar_emulator import build as emulator
    from poplar_emulator.op_project.project import LIBRARY_FLAGS

    prefix, command = emulator.build(progress=progress), compiler()
    sources = poplar_sources(layer)
    made_by = repr((GENERATOR, command, version_of(command), emulator.fingerprint(prefix)))
    directory = cache_directory() / f"equations-poplar-{hash_of(repr(sources))}-{hash_of(made_by)}"

    def make(complete: Path, scratch: Path, steps: Steps) -> None:
        steps.begin(2)
        for name, text in sources.items():
            (complete / name).write_text(text, "utf-8")
        popc = [str(prefix / emulator.POPC), "-O3", str(complete / CODELETS_FILE)]
        run_compiler([*popc, "-o", str(complete / CODELETS)])
        steps.finish_one()
        graph = [*LIBRARY_FLAGS, str(complete / GRAPH_FILE), "-o", str(complete / LIBRARY)]
        run_compiler([*command, *graph, *emulator.program_flags(prefix)])
        steps.finish_one()

    if not (mark_used(directory) and (directory / LIBRARY).exists()):
        what = "the equations of a layer for tiles"
        build_once(what, "equations-poplar", directory, LIBRARY, make, progress)
    return directory


class EquationsOnTiles:
    """Has the methods of EquationsKernel. Sums over steps are float32 on the tiles."""

    def __init__(self, layer: LayerEquations, tiles: int) -> None:
        """Build the layer's vertices, unless they are cached.

        tiles: of the one emulated IPU. The program gets the engine options of this process's
            emulated IPU with as many tiles.

        Raises MissingCompiler, BuildFailed, MissingEmulator.
        """
        from poplar_emulator.custom_op import POISON
        from poplar_emulator.op_project.poplar_op import PoplarOp
        from poplar_emulator.user_op import emulated_ipus

        built = build_poplar_equations(layer)
        self.layer = layer
        self._op = PoplarOp(
            built / LIBRARY,
            str(built / CODELETS),
            attributes="",
            gradient_attributes="",
            op_name="Build",
            tiles=tiles,
            gradients=(0, 1),
            options={**POISON, **emulated_ipus(1, tiles).options},
        )

    def compile(self, steps: int, batch: int) -> None:
        """Compile the layer's program for batches of this size.

        Raises CustomOpError if it does not fit into the tiles.
        """
        layer = self.layer
        current, rows = (steps, batch, layer.neurons), max(1, len(layer.neuron.parameters))
        inputs: List[Tuple[int, ...]] = [current, (batch, rows, layer.neurons)]
        inputs += [layer.recurrent_weights] if layer.recurrent else []
        self._op.compile(
            [("float32", shape) for shape in inputs],
            [("float32", shape) for shape in self._outputs(current)],
        )

    def forward(
        self,
        parameters: np.ndarray,
        current: np.ndarray,
        keep: bool = True,
        recurrent: Optional[np.ndarray] = None,
    ) -> KernelTrace:
        """Run the layer; the arguments are those of EquationsKernel, all states are returned."""
        inputs = [current, self._rows(parameters, current.shape[1])]
        inputs += [] if recurrent is None else [recurrent]
        outputs = [("float32", shape) for shape in self._outputs(current.shape)]
        x, states, *total = self._op.forward(inputs, outputs)
        bad = not_finite_steps(x, states[1:])
        return KernelTrace(x, states, int(bad[0]) if bad.size else -1, *(total or [current]))

    def backward(
        self,
        parameters: np.ndarray,
        current: np.ndarray,
        states: np.ndarray,
        by_spikes: np.ndarray,
        recurrent: Optional[np.ndarray] = None,
        lists: Optional[Tuple[np.ndarray, np.ndarray]] = None,
    ) -> Tuple[np.ndarray, np.ndarray, int]:
        """Return the gradients, as EquationsKernel."""
        if lists is not None:
            by_slots, by_spikes = by_spikes, np.zeros_like(by_spikes)
            ids, counts = lists
            step, sample, slot = np.nonzero(np.arange(ids.shape[2]) < counts[..., 1:])
            neuron_ids = ids[step, sample, slot].astype(np.int64)
            by_spikes[step, sample, neuron_ids] = by_slots[step, sample, slot]
        inputs = [current, self._rows(parameters, current.shape[1])]
        outputs = [np.zeros_like(current), states]
        gradients = [by_spikes, np.zeros_like(states)]
        if recurrent is not None:
            inputs.append(recurrent)
            outputs.append(current)
            gradients.append(np.zeros_like(current))
        by_current, by_rows = self._op.backward(gradients, inputs, outputs, (0, 1))
        neuron = self.layer.neuron
        trained: List[int] = [at for at, each in enumerate(neuron.parameters) if each.is_trained]
        total = np.zeros((len(trained), current.shape[2]))
        for sample in by_rows.astype(np.float64):
            total += sample[trained]
        bad = not_finite_steps(by_current)
        return by_current, total, int(bad[-1]) if bad.size else -1

    def spikes(
        self,
        parameters: np.ndarray,
        current: np.ndarray,
        keep: bool = True,
        recurrent: Optional[np.ndarray] = None,
    ) -> SpikeTrace:
        """Run the layer, and list its spikes."""
        found = self.forward(parameters, current, keep, recurrent)
        spiking = found.x > 0
        gate = self.layer.gate
        listed = np.ones_like(spiking) if gate is None else spiking | (found.x > np.float32(gate))
        order = np.argsort(2 - spiking.astype(np.int8) - listed, axis=2, kind="stable")
        counts = np.empty((*order.shape[:2], 2), np.float32)
        counts[..., 0], counts[..., 1] = spiking.sum(axis=2), listed.sum(axis=2)
        filled = np.arange(order.shape[2]) < counts[..., 1:]
        ids = np.where(filled, order, 0).astype(np.float32)
        return SpikeTrace(ids, counts, found.states, found.first_bad_step, found.current)

    def profile(self) -> Optional[Dict[str, Any]]:
        """Return the profile of the op that ran longest; None if none ran."""
        try:
            return self._op.profile()
        except InvalidInput:
            return None

    def _outputs(self, current: Tuple[int, ...]) -> List[Tuple[int, ...]]:
        """Return the shapes of the values of `spike`, the states and a recurrent layer's total."""
        steps, batch, neurons = current
        states = (steps + 1, batch, len(self.layer.neuron.states), neurons)
        return [current, states, *([current] if self.layer.recurrent else [])]

    def _rows(self, parameters: np.ndarray, batch: int) -> np.ndarray:
        """Return the parameters of each sample, and one row of zeros if there are none."""
        rows = parameters if len(parameters) else np.zeros((1, self.layer.neurons), np.float32)
        return np.ascontiguousarray(np.broadcast_to(rows, (batch, *rows.shape)))


def not_finite_steps(*arrays: np.ndarray) -> np.ndarray:
    """Return the steps in which an array `[steps, ...]` has a value that is not finite."""
    bad = [~np.isfinite(array).all(axis=tuple(range(1, array.ndim))) for array in arrays]
    return np.flatnonzero(np.logical_or.reduce(bad))
