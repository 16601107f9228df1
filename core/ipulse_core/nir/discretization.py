"""How the neurons of a NIR file are solved: by its metadata, its writer, or what the user says."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from ipulse_core.nir.errors import NirAmbiguous, NirInvalid, at_node
from ipulse_core.nir.hdf5_file import Graph, NirNode
from ipulse_core.nir.neurons import NEURONS, Solver
from ipulse_core.nir.node_fields import numbers
from ipulse_core.spec.nir_targets import EULER_DECAY, SUBTRACTED, UNSCALED_INPUT
from ipulse_core.spec.nir_writers import (
    BY_FILE,
    RESETS,
    SOLVERS,
    SUBTRACT,
    WRITERS,
    ZERO,
)

_SPIKING = ("LIF", "CubaLIF", "IF")
_TIMES = ("tau", "tau_mem", "tau_syn", "delay")
_V_RESET_SINCE = (1, 0, 5)  # the release of nir; before, its text subtracted the threshold
_ALL_ADD = frozenset(("LIF", "CubaLIF", "LI", "CubaLI", "IF", "I", "synapse"))
# What adds its input without the factor 1 - decay or the time step, whatever the solver.
_ADDS: Mapping[str, FrozenSet[str]] = {
    "norse": frozenset(("IF", "synapse")),
    "sinabs": frozenset(("IF", "LI")),
}
# What differs where a membrane is above twice its threshold, which data decide.
_NOTES = {
    ("sinabs", SUBTRACT): (
        "where a membrane is above twice its threshold, Sinabs spikes several times and IPUlse "
        "once: compare recorded spikes with `ipulse nir import --check`, or use "
        "spike_fn=SingleSpike",
    ),
    ("snntorch", SUBTRACT): (
        "where a membrane is above twice its threshold, snnTorch subtracts again before the next "
        "spike, and IPUlse does not: compare recorded spikes with `ipulse nir import --check`",
    ),
}


@dataclass(frozen=True)
class Options:
    """Settings outside of a NIR file; None takes what the file says."""

    solver: Optional[str] = None
    step_s: Optional[float] = None
    reset: Optional[str] = None  # of LIF, CubaLIF and IF
    writer: Optional[str] = None


@dataclass(frozen=True)
class Discretization:
    """How the neurons of a file are solved over a time step."""

    solver: Solver
    reset: str
    step_ms: float  # of a spec
    notes: List[str] = field(default_factory=list)  # what was assumed
    options: Mapping[str, str] = field(default_factory=dict)  # by name, that choose it
    meaning: str = ""  # settings of the writer that they stand for


def discretizations_of(graph: Graph, options: Options) -> List[Discretization]:
    """Return the discretizations that a file may have; several if it does not tell.

    Raises:
        NirInvalid: there is no such solver, reset or writer, the file is not of that writer, or the
            time step is not above 0.
        NirAmbiguous: the time step is missing.
    """
    for name, value, known in (
        ("solver", options.solver, SOLVERS),
        ("reset", options.reset, RESETS),
        ("writer", options.writer, tuple(WRITERS)),
    ):
        if value is not None and value not in known:
            raise NirInvalid(f"the {name} is {value!a}; known are {', '.join(known)}")
    step = graph.metadata.get("dt")
    # Text and empty arrays say nothing.
    stored = float(step.flat[0]) if isinstance(step, np.ndarray) and step.size else None
    given = options.step_s if options.step_s is not None else stored
    if given is not None and not (math.isfinite(given) and given > 0):
        raise NirInvalid(f"the time step of {given:g} s is not above 0")
    if options.writer is None and _text(graph, "discretization"):
        return [_by_metadata(graph, options, stored)]
    writer = options.writer
    if writer is None and options.solver is not None:
        writer = "nir"  # with the formula said, nothing else of NIR is open
    if writer is not None:
        return list(_of_writer(writer, graph, options, given))
    found: List[Discretization] = []
    for name, row in WRITERS.items():
        usual = given if given is not None or row.fixed_step_s else (row.usual_step_ms or 1) / 1000
        try:
            found += _of_writer(name, graph, options, usual)
        except NirInvalid:
            continue  # the file is not of this writer
    return found


def ambiguous(found: Sequence[Discretization]) -> NirAmbiguous:
    """Return the error that asks which of several discretizations a file has."""
    writers = {each.options["writer"]: each for each in found}
    if len(writers) > 1:
        choices = [
            (
                {key: word for key, word in each.options.items() if key in ("writer", "step_ms")},
                WRITERS[name].program,
            )
            for name, each in writers.items()
        ]
        return NirAmbiguous(
            "the file does not say which program wrote it, and they differ in their spikes", choices
        )
    [program] = {WRITERS[name].program for name in writers}
    return NirAmbiguous(
        f"files of {program} do not say all of its settings, and they change the spikes",
        [(each.options, each.meaning) for each in found],
    )


def _by_metadata(graph: Graph, options: Options, stored: Optional[float]) -> Discretization:
    """Return what a file of IPUlse says, apart from the options."""
    rule = _text(graph, "discretization")
    name = "euler" if rule.startswith(EULER_DECAY) else "exact"
    name = options.solver or ("unscaled" if rule.endswith(UNSCALED_INPUT) else name)
    step_s = options.step_s if options.step_s is not None else stored
    if step_s is None:
        if name != "unscaled":
            raise NirInvalid("the metadata have no time step dt: give step_ms")
        step_s = 1.0  # time constants of such a file count steps
    reset = SUBTRACT if SUBTRACTED in _text(graph, "spike") else ZERO
    return Discretization(
        solver=_solver(name, step_s),
        reset=options.reset or reset,
        step_ms=1.0 if name == "unscaled" else _ms(step_s),
    )


def _of_writer(
    name: str, graph: Graph, options: Options, step_s: Optional[float]
) -> Iterator[Discretization]:
    """Yield the discretizations of a writer."""
    writer = WRITERS[name]
    _check(name, graph)
    solvers = [options.solver] if options.solver else list(writer.solvers)
    resets = [options.reset] if options.reset else list(writer.resets)
    notes: List[str] = []
    if resets == [BY_FILE]:
        resets, notes = _resets_of(graph)
    step = step_s or writer.fixed_step_s
    if not step:
        if _has_times(graph, name):
            words = {"writer": name, **_said(options), "step_ms": f"{writer.usual_step_ms:g}"}
            raise NirAmbiguous(
                f"the file does not say the time step of {writer.program}: give step_ms, the "
                "time step that it ran with in milliseconds",
                [(words, f"{writer.usual_step_ms:g} ms, the usual step")],
            )
        step = (writer.usual_step_ms or 1.0) / 1000
    solved_s = writer.fixed_step_s or step
    if name == "norse":
        solved_s, found = _norse_step(graph, step)
        notes = [*notes, *found]
    for solver, reset in product(solvers, resets):
        meant = (writer.solvers.get(solver, ""), writer.resets.get(reset, ""))
        made = _solver(solver, solved_s)
        words = {"writer": name, "solver": solver if len(solvers) > 1 else options.solver or ""}
        words["reset"] = reset if len(resets) > 1 else options.reset or ""
        if writer.usual_step_ms or options.step_s:
            words["step_ms"] = f"{_ms(step):g}"
        yield Discretization(
            solver=replace(made, adds=made.adds | _ADDS.get(name, frozenset())),
            reset=reset,
            step_ms=1.0 if name == "sinabs" and step_s is None else _ms(step),
            notes=[*notes, *_NOTES.get((name, reset), ())],
            options={key: value for key, value in words.items() if value},
            meaning="; ".join(filter(None, meant)),
        )


def _said(options: Options) -> Dict[str, str]:
    """Return the options that the user gave, by their names."""
    given = {"solver": options.solver, "reset": options.reset}
    return {name: value for name, value in given.items() if value}


def _resets_of(graph: Graph) -> Tuple[List[str], List[str]]:
    """Return the possible resets of a file that follows NIR's text, and notes."""
    missing = [
        node
        for node in graph.nodes.values()
        if node.type in _SPIKING and "v_reset" not in node.fields
    ]
    if not missing:
        return [ZERO], []
    release = _release(graph.version)
    if not release:
        return [SUBTRACT, ZERO], []
    if release >= _V_RESET_SINCE:
        return [ZERO], []
    note = (
        f"there is no v_reset, and nir {graph.version} wrote the file: before 1.0.5 its neurons "
        "subtract the threshold after a spike"
    )
    return [SUBTRACT], [note]


def _release(version: str) -> Tuple[int, ...]:
    """Return the numbers of a version; none if it has another form."""
    parts = version.split(".")[:3]
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else ()


def _norse_step(graph: Graph, step_s: float) -> Tuple[float, List[str]]:
    """Return the time step in the unit of time constants of Norse, and notes."""
    release = _release(graph.version)
    taus = [tau for node in graph.nodes.values() for tau in _times(node)]
    if not taus or (release and release < (1,)):
        return step_s, []
    longest = max(taus) / step_s * 1000
    note = f"Norse 1.1 writes time constants times its step: they are up to {longest:g} ms"
    return step_s * step_s, [note]


def _check(name: str, graph: Graph) -> None:
    """Raise NirInvalid if a program does not write such a file."""
    program, types = WRITERS[name].program, WRITERS[name].neurons
    for node in graph.nodes.values():
        if node.type not in NEURONS:
            continue
        wrong = ""
        if node.type not in types:
            wrong = f"neurons are {', '.join(types)}"
        elif name == "snntorch":
            pairs = [("r", "tau"), ("r", "tau_mem"), ("w_in", "tau_syn")]
            for factor, tau in pairs:
                if tau in node.fields and not _is_ratio(node, factor, tau):
                    wrong = f"{factor} is {tau} / 0.1 ms"
        elif name in ("norse", "sinabs") and not (numbers(node, "r") == 1).all():
            wrong = "r is 1"
        if wrong:
            raise at_node(node.name, f"the file is not of {program}: in its files {wrong}")


def _is_ratio(node: NirNode, factor: str, tau: str) -> bool:
    """Return whether a factor is a time constant in snnTorch's steps."""
    times = np.ravel(numbers(node, tau)) / WRITERS["snntorch"].fixed_step_s
    found = np.ravel(numbers(node, factor))
    return found.size in (1, times.size) and np.allclose(found, times, rtol=1e-3, atol=0)


def _times(node: NirNode) -> Iterator[float]:
    for key in _TIMES:
        value = node.fields.get(key)
        if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
            yield from np.ravel(value).tolist()


def _has_times(graph: Graph, writer: str) -> bool:
    """Return whether the time step is part of a file's network."""
    rates = () if "IF" in _ADDS.get(writer, ()) else ("IF", "I")
    return any(node.type in rates or any(_times(node)) for node in graph.nodes.values())


def _solver(name: str, step_s: float) -> Solver:
    if name == "unscaled":
        return Solver("exact", step_s, _ALL_ADD)
    return Solver(name, step_s)


def _ms(step_s: float) -> float:
    return float(f"{step_s * 1000:.12g}")


def _text(graph: Graph, key: str) -> str:
    value = graph.metadata.get(key)
    return value if isinstance(value, str) else ""
