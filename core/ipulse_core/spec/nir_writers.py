"""The programs that write NIR files, and how each solves the neurons that it writes.

A NIR file has time constants, but neither the time step nor the formula that makes decays of them,
and some writers leave out the reset. The importer, the command line, the service and the client
read this table.
"""

from __future__ import annotations

from typing import Literal, Mapping, NamedTuple, Optional, Tuple, get_args

SolverName = Literal["exact", "euler", "unscaled"]
ResetName = Literal["zero", "subtract", "none", "later-zero", "later-subtract"]
WriterName = Literal["norse", "snntorch", "spikingjelly", "sinabs", "nir"]
SOLVERS: Tuple[str, ...] = get_args(SolverName)
RESETS: Tuple[str, ...] = get_args(ResetName)
ZERO, SUBTRACT, NONE = "zero", "subtract", "none"
# snnTorch's resets that act one step later, on a membrane that has decayed and has its next input.
LATER_ZERO, LATER_SUBTRACT = "later-zero", "later-subtract"
# The flags of an import by the names of its options.
FLAGS: Mapping[str, str] = {
    "writer": "--from",
    "solver": "--solver",
    "step_ms": "--step-ms",
    "reset": "--reset",
}
BY_FILE = "by the file"  # by v_reset, and where it is missing by the release of nir


class Writer(NamedTuple):
    """One program, with the settings of it that its files do not tell.

    Neurons are the types of nodes that it writes. Solvers and resets are the possible ones, each
    with the program's setting that means it.
    """

    program: str
    neurons: Tuple[str, ...]
    solvers: Mapping[str, str]
    resets: Mapping[str, str]
    usual_step_ms: Optional[float] = None  # where the time step is an argument of the program
    fixed_step_s: float = 0.0  # where it is not; Sinabs counts time in steps


WRITERS: Mapping[str, Writer] = {
    "norse": Writer(
        "Norse", ("LIF", "CubaLIF", "LI", "IF"), {"euler": ""}, {ZERO: ""}, usual_step_ms=1.0
    ),
    "snntorch": Writer(
        "snnTorch",
        ("LIF", "CubaLIF"),
        {"euler": ""},
        {
            LATER_SUBTRACT: 'reset_mechanism="subtract" and reset_delay=True, the defaults',
            SUBTRACT: 'reset_mechanism="subtract" and reset_delay=False',
            LATER_ZERO: 'reset_mechanism="zero" and reset_delay=True',
            ZERO: 'reset_mechanism="zero" and reset_delay=False',
            NONE: 'reset_mechanism="none"',
        },
        fixed_step_s=1e-4,
    ),
    "spikingjelly": Writer(
        "SpikingJelly", ("LIF", "CubaLIF", "IF"), {"euler": ""}, {ZERO: ""}, usual_step_ms=0.1
    ),
    "sinabs": Writer(
        "Sinabs",
        ("LIF", "LI", "IF"),
        {"exact": "norm_input=True, the default", "unscaled": "norm_input=False"},
        {SUBTRACT: ""},
        fixed_step_s=1.0,
    ),
    "nir": Writer(
        "a program that solves NIR's equations",
        ("LIF", "CubaLIF", "IF", "LI", "CubaLI", "I", "Threshold"),
        {"exact": "decay = exp(-step / tau)", "euler": "decay = 1 - step / tau"},
        {BY_FILE: ""},
        usual_step_ms=1.0,
    ),
}
