"""C++ files of the CPU kernels include what lies below them: the C interface is at the bottom."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

from ipulse_ops.lif.cpu.libraries import SOURCES

# Each folder includes files of its own and of those behind it.
LAYERS = (
    "bindings",
    "conv",
    "passes/backward",
    "passes/forward",
    "passes/strassen",
    "passes",
    "kernels/instruction_sets",
    "kernels",
    "kernels/arguments",
    "support",
    "interface",
)
_INCLUDE = re.compile(r'#include "([^"]+)"')


def files() -> List[Path]:
    return [path for path in sorted(SOURCES.rglob("*")) if path.suffix in (".h", ".cc", ".inc")]


def includes() -> Iterator[Tuple[str, str]]:
    """Yield each file with one that it includes, as paths below the sources."""
    for path in files():
        for name in _INCLUDE.findall(path.read_text("utf-8")):
            found = [base / name for base in (path.parent, SOURCES) if (base / name).is_file()]
            if found and SOURCES in found[0].resolve().parents:
                included = found[0].resolve().relative_to(SOURCES)
                yield str(path.relative_to(SOURCES)), str(included)


def test_every_folder_has_its_layer() -> None:
    assert {str(path.parent.relative_to(SOURCES)) for path in files()} == set(LAYERS)


def test_no_file_includes_upward() -> None:
    rank = {folder: number for number, folder in enumerate(LAYERS)}
    pairs = list(includes())
    assert ("bindings/lif.cc", "interface/lif.h") in pairs
    assert [
        (file, included)
        for file, included in pairs
        if rank[os.path.dirname(file)] > rank[os.path.dirname(included)]
    ] == []


def test_headers_of_a_folder_include_each_other_in_one_direction() -> None:
    included_by: Dict[str, Set[str]] = {}
    for file, included in includes():
        included_by.setdefault(file, set()).add(included)
    done: Set[str] = set()

    def visit(file: str, above: Tuple[str, ...]) -> None:
        assert file not in above, f"a circle: {' -> '.join([*above, file])}"
        if file not in done:
            for included in sorted(included_by.get(file, ())):
                visit(included, (*above, file))
            done.add(file)

    for file in sorted(included_by):
        visit(file, ())
