"""Codelets, host programs, the op and the files of a new op compile without a warning in clang.

popc is a clang, and Poplar's documentation compiles host programs with either compiler; all other
tests compile with g++. No program is built here: the compiler checks the sources alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Sequence

import pytest

from ipulse_ops.lif.poplar.sources import SOURCES as OP
from poplar_emulator.build import SOURCES

ROOT = Path(__file__).resolve().parents[2]
COMPILER = "clang++"
INCLUDE = SOURCES / "include"
TEMPLATES = SOURCES / "op_project"
HOST_FLAGS = ("-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}")
# As popc compiles.
CODELET_FLAGS = (
    *("-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"),
    *("-DPOPC_COUNTED", "-D__POPC__=1", "-Dtarget(KIND)=unused"),
    *("-Xclang", "-fnative-half-type", "-Xclang", "-fallow-half-arguments-and-returns"),
    *("-include", "ipu_builtins.h", f"-I{INCLUDE}"),
)
pytestmark = pytest.mark.skipif(
    shutil.which(COMPILER) is None and not os.environ.get("CI"), reason="needs clang++"
)


def assert_no_warning(*arguments: str) -> None:
    command = [COMPILER, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert (done.returncode, done.stdout.decode()[:2000]) == (0, "")


def unit_of(sources: Sequence[Path], folder: Path) -> str:
    unit = folder / "unit.cc"
    unit.write_text("".join(f'#include "{source}"\n' for source in sources), "utf-8")
    return str(unit)


@pytest.mark.parametrize("level", [4, 5])
@pytest.mark.sample(1)
def test_the_op_s_host_part(level: int, tmp_path: Path) -> None:
    unit = unit_of(sorted(OP.rglob("*.cc")), tmp_path)
    assert_no_warning("-fsyntax-only", *HOST_FLAGS, f"-I{OP}", f"-DIPU_OP_API_LEVEL={level}", unit)


def test_codelets(tmp_path: Path) -> None:
    examples = sorted((ROOT / "examples").glob("*/*codelets.cpp"))
    for codelets in (sorted((OP / "codelets").rglob("*.cpp")), *([path] for path in examples)):
        assert_no_warning("-fsyntax-only", *CODELET_FLAGS, unit_of(codelets, tmp_path))


def test_the_files_of_a_new_op() -> None:
    for template in ("template", "layer_template"):
        (host,) = (TEMPLATES / template).glob("*_op.cpp")
        assert_no_warning("-fsyntax-only", *HOST_FLAGS, str(host))
        codelets = str(TEMPLATES / template / "codelets.cpp")
        assert_no_warning("-fsyntax-only", *CODELET_FLAGS, codelets)


def test_example_programs(tmp_path: Path) -> None:
    # Their headers take most of the time: they are parsed once.
    header, compiled = tmp_path / "common.h", tmp_path / "common.pch"
    header.write_text(
        "#include <poplar/Engine.hpp>\n#include <poplar/IPUModel.hpp>\n"
        "#include <popops/ElementWise.hpp>\n#include <popops/Reduce.hpp>\n"
    )
    assert_no_warning(*HOST_FLAGS, "-x", "c++-header", str(header), "-o", str(compiled))
    programs = [
        path for path in sorted((ROOT / "examples").glob("*/*.cpp")) if "codelets" not in path.name
    ]
    assert programs
    for program in programs:
        assert_no_warning("-fsyntax-only", *HOST_FLAGS, "-include-pch", str(compiled), str(program))
