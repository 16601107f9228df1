"""The table of neuron constants for C++.

`python -m ipulse_ops.lif.cpu.constants_header` writes interface/constants.h.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Callable, List, Sequence

import numpy as np

from ipulse_core.neurons.constants import ALL, GENERAL, IN_KERNELS, SPIKING, Bounds, Constant

PATH = Path(__file__).with_name("interface") / "constants.h"
_HEAD = """// The constants of neurons, from ipulse_core.neurons.constants.
//
// Written by `python -m ipulse_ops.lif.cpu.constants_header`. Each macro applies X to the names of
// arrays, in the order of the structs in lif.h.
//
"""
_GUARD = """#ifndef IPULSE_OPS_LIF_CPU_CONSTANTS_H
#define IPULSE_OPS_LIF_CPU_CONSTANTS_H

// clang-format off
"""
_END = """
// clang-format on
#endif
"""


def header() -> str:
    """Return the text of interface/constants.h."""
    gradients = [row for row in IN_KERNELS if row.has_gradient]
    bounded = [row for row in IN_KERNELS if row.bounds != Bounds()]
    parts = [
        _macro(
            "LIF_CONSTANTS_OF_ALL",
            "Of every layer; true: it may be NULL.",
            _of(IN_KERNELS, ALL),
            _optional,
        ),
        _macro(
            "LIF_CONSTANTS_OF_SPIKING",
            "Of layers that spike, likewise.",
            _of(IN_KERNELS, SPIKING),
            _optional,
        ),
        _macro(
            "LIF_GRADIENTS_OF_ALL",
            "Those of every layer with a gradient.",
            _of(gradients, ALL),
            _name,
        ),
        _macro(
            "LIF_GRADIENTS_OF_SPIKING",
            "Of layers that spike, likewise.",
            _of(gradients, SPIKING),
            _name,
        ),
        "\n#define LIF_GRADIENTS(X) LIF_GRADIENTS_OF_ALL(X) LIF_GRADIENTS_OF_SPIKING(X)\n",
        _macro(
            "LIF_GENERAL_CONSTANTS", "Those that only the general kernels read.", GENERAL, _name
        ),
        _macro(
            "LIF_BOUNDED_CONSTANTS",
            "The least and the largest float that they may be.",
            bounded,
            _bounds,
        ),
    ]
    return _HEAD + "".join(map(_meaning, IN_KERNELS)) + _GUARD + "".join(parts) + _END


def _of(rows: Sequence[Constant], kind: str) -> List[Constant]:
    return [row for row in rows if row.of == kind]


def _macro(name: str, words: str, rows: Sequence[Constant], item: Callable[[Constant], str]) -> str:
    lines = [f"#define {name}(X)", *(f"  X({item(row)})" for row in rows)]
    return f"\n// {words}\n" + " \\\n".join(lines) + "\n"


def _meaning(row: Constant) -> str:
    text = f"{row.array}: {row.sentence}" + (f" ({row.bounds})" if str(row.bounds) else "")
    return (
        textwrap.fill(
            text,
            width=99,
            initial_indent="// ",
            subsequent_indent="//   ",
            break_on_hyphens=False,
        )
        + "\n"
    )


def _name(row: Constant) -> str:
    return row.array


def _optional(row: Constant) -> str:
    return f"{row.array}, {'true' if row.is_optional else 'false'}"


def _bounds(row: Constant) -> str:
    bounds = row.bounds
    most = np.float32(np.finfo(np.float32).max if bounds.most is None else bounds.most)
    if bounds.below is not None:
        most = np.nextafter(np.float32(bounds.below), np.float32(0))
    least = np.float32(bounds.least or 0.0)
    words = str(bounds) if bounds.most or bounds.below else f"{bounds} and finite"
    return f'{row.array}, {float(least)!r}f, {most.astype(float).hex()}f, "{words}"'


if __name__ == "__main__":
    PATH.write_text(header(), "utf-8")
