"""The time step, solver and reset of a NIR file: its metadata, or what the user says."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import List, Optional

import numpy as np

from ipulse_core.spec.nir_targets import EULER_DECAY, SUBTRACTED, UNSCALED_INPUT
from ipulse_worker.nir.errors import NirInvalid
from ipulse_worker.nir.hdf5_file import Graph
from ipulse_worker.nir.neurons import SOLVERS, Solver

STEP_S = 1e-3  # where neither the file nor the user says it


@dataclass(frozen=True)
class Options:
    """Settings outside of a NIR file; None takes the metadata of IPUlse's files, or a default."""

    solver: Optional[str] = None
    step_s: Optional[float] = None
    reset: Optional[str] = None  # of LIF and CubaLIF


@dataclass(frozen=True)
class Discretization:
    """How the neurons of a file are solved over a time step."""

    solver: Solver
    reset: str
    step_ms: float  # of a spec
    notes: List[str] = field(default_factory=list)  # what was assumed


def discretization_of(graph: Graph, options: Options) -> Discretization:
    """Return the discretization of a file.

    Raises:
        NirInvalid: there is no such solver, or the time step is not above 0.
    """
    rule = _text(graph, "discretization")
    found = "euler" if rule.startswith(EULER_DECAY) else "exact"
    if rule.endswith(UNSCALED_INPUT):
        found = "unscaled"
    name = options.solver or found
    if name not in SOLVERS:
        raise NirInvalid(f"the solver is {name!a}; known are {', '.join(SOLVERS)}")
    step = graph.metadata.get("dt")
    # Text and empty arrays say nothing.
    stored = float(step.flat[0]) if isinstance(step, np.ndarray) and step.size else None
    notes: List[str] = []
    if stored is None and options.step_s is None and name != "unscaled":
        notes.append(f"the file has no time step: {STEP_S * 1000:g} ms are assumed")
    # Time constants of such a file count steps.
    in_steps = name == "unscaled" and stored is None
    step_s = STEP_S if stored is None else stored
    if options.step_s is not None:
        step_s = options.step_s
    elif in_steps:
        step_s = 1.0
    if not (math.isfinite(step_s) and step_s > 0):
        raise NirInvalid(f"the time step of {step_s:g} s is not above 0")
    reset = "subtract" if SUBTRACTED in _text(graph, "spike") else "zero"
    return Discretization(
        solver=Solver(name, step_s),
        reset=options.reset or reset,
        step_ms=1.0 if name == "unscaled" else float(f"{step_s * 1000:.12g}"),
        notes=notes,
    )


def _text(graph: Graph, key: str) -> str:
    value = graph.metadata.get(key)
    return value if isinstance(value, str) else ""
