"""Compiles the op for the emulator: its library with g++, its codelets with popc.

A wheel contains both, for the emulator that its build used. For the SDK, `make` in
this directory compiles the same sources.
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Dict, Sequence

from ipulse_core.build_cache.build_once import Steps, build_once
from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.progress import ProgressCallback, print_progress
from ipulse_core.build_cache.shipped import FOLDER, find_shipped, ship
from ipulse_core.build_cache.toolchain import BuildFailed, compiler, run_compiler, unity_sources
from ipulse_core.build_cache.unused_builds import mark_used
from ipulse_core.ipu import API_LEVEL
from ipulse_ops.lif.poplar.sources import (
    FLAGS,
    LEVELS,
    LIBRARIES,
    SOURCES,
    BuiltOp,
    hash_of_sources,
)
from poplar_emulator import build as emulator

CODELETS = "ipulse_lif.gp"
OWN_CODELET = "own_loss.cpp"
SHIPPED = SOURCES / FOLDER
# The prefix in a wheel of the emulator, seen from SHIPPED in a wheel of this package.
SHIPPED_PREFIX = "$ORIGIN/../../../../poplar_emulator/shipped"


# One build per level; a change of the sources takes effect in the next process.
_built: Dict[int, BuiltOp] = {}


def build(api_level: int = API_LEVEL, progress: ProgressCallback = print_progress) -> BuiltOp:
    """Return the op's library and codelets; build what is neither shipped nor in the cache.

    api_level: 4 for SDK 2.0 to 2.2, 5 for SDK 2.3 to 3.4.
    progress: called before a build, after each of its steps and while another process builds.
    Raises MissingCompiler, BuildFailed.
    """
    if api_level not in _built:
        prefix = emulator.build(progress=progress)
        if find_shipped(SHIPPED, _library(api_level), recipe(prefix)):
            _built[api_level] = BuiltOp(SHIPPED / _library(api_level), SHIPPED / CODELETS)
        else:
            _built[api_level] = _find_or_build(prefix, str(prefix), api_level, progress)
    return _built[api_level]


def ship_op(folder: Path) -> None:
    """Put library and codelets into a new folder for a wheel. Raises MissingCompiler, BuildFailed.

    They are for the emulator's wheel, which finds them if both are installed in one place.
    """
    prefix = emulator.build()
    built = _find_or_build(prefix, SHIPPED_PREFIX, API_LEVEL, print_progress)
    ship(built.library.parent, folder, recipe(prefix))


def build_with(codelet: str, progress: ProgressCallback = print_progress) -> BuiltOp:
    """Return the op with one more codelet; build what is not cached.

    codelet: C++ of a vertex.
    Raises MissingCompiler, BuildFailed.
    """
    built = build(progress=progress)
    digest = hashlib.sha256(repr((str(built.codelets), codelet)).encode()).hexdigest()[:16]
    directory = cache_directory() / f"poplar-loss-{digest}"
    found = BuiltOp(built.library, directory / CODELETS)

    def make(complete: Path, scratch: Path, steps: Steps) -> None:
        steps.begin(1)
        own = complete / OWN_CODELET
        own.write_text(codelet, "utf-8")
        _compile_codelets(emulator.build(progress=progress), complete / CODELETS, scratch, (own,))
        steps.finish_one()

    if not mark_used(directory):
        what = "the loss of equations for tiles"
        build_once(what, "poplar-loss", directory, CODELETS, make, progress)
    return found


def _library(api_level: int) -> str:
    return f"libipulse_lif_{api_level}.so"


def recipe(prefix: Path) -> str:
    """Return the hash of all that a shipped op is built from."""
    return hash_of_sources(emulator.fingerprint(prefix))


def _find_or_build(
    prefix: Path, installed: str, api_level: int, progress: ProgressCallback
) -> BuiltOp:
    """Return the op of the cache.

    prefix: of the emulator.
    installed: the prefix whose libraries the op loads, if they are not loaded.
    """
    made_from = hash_of_sources(f"{emulator.fingerprint(prefix)} {installed}")
    directory = cache_directory() / f"poplar-op-{made_from}"
    built = BuiltOp(directory / _library(api_level), directory / CODELETS)
    if not mark_used(directory):

        def make(complete: Path, scratch: Path, steps: Steps) -> None:
            _compile(prefix, installed, complete, scratch, steps)

        build_once("the LIF op for Poplar", "poplar-op", directory, CODELETS, make, progress)
    return built


def _compile(prefix: Path, installed: str, complete: Path, scratch: Path, steps: Steps) -> None:
    def compile_one(source: Path, level: int) -> str:
        out = str(scratch / f"{source.stem}-{level}.o")
        defined = f"-DIPU_OP_API_LEVEL={level}"
        run_compiler([*compiler(), *FLAGS, defined, *includes, "-c", str(source), "-o", out])
        return out

    includes = [f"-I{prefix / 'include'}", f"-I{SOURCES}"]
    compiled = sorted(SOURCES.rglob("*.cc"))
    exporting = [source for source in compiled if _depends_on_level(source)]
    shared = [source for source in compiled if source not in exporting]
    apart = scratch / "exporting"
    apart.mkdir()
    common = unity_sources(shared, scratch)
    by_level = unity_sources(exporting, apart)
    units = [(unit, 0) for unit in common]
    units += [(unit, level) for level in LEVELS for unit in by_level]
    steps.begin(len(units) + len(LEVELS) + 1)
    objects = dict(zip(units, steps.run([partial(compile_one, *unit) for unit in units])))
    lib = prefix / "lib"
    paths = [f"-L{lib}", f"-Wl,-rpath-link,{lib}", f"-Wl,-rpath,{installed}/lib"]
    link = ["-shared", "-Wl,-z,defs", *paths]
    for level in LEVELS:
        of_level = [out for (_, at), out in objects.items() if at in (0, level)]
        out = str(complete / _library(level))
        libraries = [f"-l{name}" for name in LIBRARIES]
        run_compiler([*compiler(), *FLAGS, *link, "-o", out, *of_level, *libraries])
        steps.finish_one()
    _compile_codelets(prefix, complete / CODELETS, scratch)
    steps.finish_one()


def _depends_on_level(source: Path) -> bool:
    """Return whether the API level changes a source."""
    text = source.read_text("utf-8")
    return any(f'"{header}"' in text for header in ("api_level.h", "exported_op.h"))


def _compile_codelets(prefix: Path, target: Path, scratch: Path, more: Sequence[Path] = ()) -> None:
    apart = scratch / "codelets"
    apart.mkdir()
    codelets = [*sorted(SOURCES.glob("codelets/**/*.cpp")), *more]
    (unit,) = unity_sources(codelets, apart, most=len(codelets))
    warnings = run_compiler([str(prefix / "bin" / "popc"), "-O3", str(unit), "-o", str(target)])
    if warnings:  # as -Werror: the SDK's popc would have the same or more of them
        raise BuildFailed(f"the codelets of the op are not as popc wants them: {warnings}")
