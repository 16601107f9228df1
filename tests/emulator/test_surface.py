"""The documented API, and libpva's report of an engine."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable

import pytest

from ipulse_ops.lif.cpu.native import compiler
from tests.emulator.compiled import PROGRAMS


def test_documented_signatures_compile(run_program: Callable) -> None:
    """Compiling checks the signatures; the program prints a report."""
    done = run_program("surface")

    assert done.returncode == 0, done.stderr
    steps = (
        "0101 0000, Twice<float> on 1, Twice<float,true,2> on 3, exchange gather; "
        "half of all cycles: 1"
    )
    assert done.stdout.splitlines() == [
        "target 4 638976 1",
        "bytes 128 0",
        f"run first: {steps}",
        f"run run 1: {steps}",
        "no execution",
    ]


_STANDARD = (
    "std::vector<std::string> v; std::map<int, std::unique_ptr<int>> m; std::optional<int> o;"
)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("header", "used"),
    [
        ("poplar/DeviceManager.hpp", _STANDARD),
        ("poplar/Type.hpp", _STANDARD),
        ("poplar/exceptions.hpp", _STANDARD),
        ("pvti/pvti.hpp", _STANDARD),
        ("poplin/MatMul.hpp", "poplin::ConvParams convolution;"),
        ("popnn/Loss.hpp", "auto masked = MASKED_LABEL_CODE;"),
        ("popops/Encoding.hpp", "auto masked = MASKED_LABEL_CODE;"),
        ("popops/Expr.hpp", "poplar::Tensor t;"),
        ("popops/ElementWise.hpp", "using Info = poputil::PoplibsOpDebugInfo;"),
        ("popops/Loop.hpp", 'auto name = poputil::templateVertex("Mine", 1);'),
        ("poprand/RandomGen.hpp", 'poputil::poplibs_error error("wrong");'),
    ],
)
def test_host_headers_bring_what_programs_rely_on(header: str, used: str, prefix: Path) -> None:
    command = [
        *compiler(),
        "-std=c++17",
        "-fsyntax-only",
        f"-I{prefix / 'include'}",
        "-x",
        "c++",
        "-",
    ]
    source = f"#include <{header}>\n{used}\n"
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_host_headers_compile_as_cpp11(prefix: Path, tmp_path: Path) -> None:
    """Every header of the host; those of codelets are compiled by popc, as C++17."""
    include = prefix / "include"
    tiles = (
        "Vertex",
        "TileArithmetic",
        "TileState",
        "InOutTypes",
        "FieldTypes",
        "HalfLimits",
        "ExtVector",
        "VectorListTypes",
    )
    headers = [h for h in sorted(include.glob("*/**/*.hpp")) if not h.name.startswith(tiles)]
    source = tmp_path / "all.cpp"
    names = [PROGRAMS / "first_steps.cpp", *(h.relative_to(include) for h in headers)]
    source.write_text("".join(f'#include "{name}"\n' for name in names))
    flags = ("-std=c++11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic")
    command = [*compiler(), *flags, f"-I{include}", str(source)]
    subprocess.run(command, check=True)
