"""Compiles C++ programs against the emulator and keeps them in the cache directory.

A program is found again under the hash of its source, the headers beside it, the emulator, the
compiler and the flags.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Tuple

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.limits import LIMIT_DAYS
from ipulse_core.build_cache.toolchain import WARNINGS, compiler, version_of
from poplar_emulator.build import SANITIZED, build, program_flags

PROGRAMS = Path(__file__).resolve().parent / "programs"
ALL_SANITIZED = bool(os.environ.get("ALL_SANITIZED"))
# Most programs include this header, which takes half of the time to compile one.
COMMON = """
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <poplar/CycleCount.hpp>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/Program.hpp>
#include <popops/ElementWise.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>
"""
_HERE = tempfile.TemporaryDirectory(prefix="ipulse-programs-")  # of this session


# Once per session: a change of the sources takes effect in the next session.
@lru_cache(maxsize=None)
def prefix_of(sanitized: bool) -> Path:
    return build(sanitized or ALL_SANITIZED)


@lru_cache(maxsize=None)
def compile_program(source: Path, sanitized: bool = False, shared: bool = False) -> Path:
    """Return the program of a source, or its library of custom ops if it is shared.

    Programs of `programs/` have a precompiled header. Libraries are loaded into Python's process
    and so never sanitized.
    """
    sanitized = (sanitized or ALL_SANITIZED) and not shared
    flags = (
        *(("-shared", "-fPIC") if shared else ()),
        *program_flags(build() if shared else prefix_of(sanitized)),
        *(() if shared else WARNINGS),
        *(SANITIZED if sanitized else ("-O0",)),
    )
    ours = source.parent == PROGRAMS and not sanitized and not shared
    command = compiler()
    digest = hashlib.sha256(repr((command, version_of(command), flags, ours and COMMON)).encode())
    for path in (source, *sorted(source.parent.glob("*.h"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    kept = cache_directory() / "test-programs"
    program = kept / f"{source.stem}-{digest.hexdigest()[:16]}"
    if program.exists():
        os.utime(str(program))
        return program
    kept.mkdir(parents=True, exist_ok=True)
    _remove_unused(kept)
    included = _precompiled(command, flags) if ours else ()
    with tempfile.TemporaryDirectory(dir=str(kept)) as scratch:
        out = Path(scratch) / program.name
        subprocess.run([*command, *included, str(source), "-o", str(out), *flags], check=True)
        out.replace(program)
    return program


@lru_cache(maxsize=None)
def _precompiled(command: Tuple[str, ...], flags: Tuple[str, ...]) -> Tuple[str, ...]:
    """Return the flags that include a header, which GCC finds precompiled."""
    header = Path(_HERE.name) / "common.h"
    header.write_text(COMMON, "utf-8")
    # A precompiled header does not keep the warnings that it switches off.
    options = ("-Wno-init-list-lifetime", "-Wno-unknown-warning-option")
    compiled = ["-x", "c++-header", str(header), "-o", f"{header}.gch"]
    compiling = [flag for flag in flags if not flag.startswith(("-l", "-L", "-Wl"))]
    subprocess.run([*command, *compiling, *options, *compiled], check=True)
    return (*options, "-include", str(header))


def _remove_unused(kept: Path) -> None:
    oldest = time.time() - LIMIT_DAYS * 24 * 3600
    for program in kept.iterdir():
        with contextlib.suppress(OSError):  # another session removed it, or compiles in a folder
            if program.stat().st_mtime < oldest:
                program.unlink()
