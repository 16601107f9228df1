"""Compiles the op for the emulator: its library with g++, its codelets with popc.

For the SDK, `make` in this directory compiles the same sources.
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Dict, Sequence

from ipulse_core.build_cache.build_once import Steps, build_once
from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.progress import ProgressCallback, print_progress
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


# One build per level; a change of the sources takes effect in the next process.
_built: Dict[int, BuiltOp] = {}


def build(api_level: int = API_LEVEL, progress: ProgressCallback = print_progress) -> BuiltOp:
    """Return the op's library and codelets; build them for every level if need be.

    api_level: 4 for SDK 2.0 to 2.2, 5 for SDK 2.3 to 3.4.
    progress: called before a build, after each of its steps and while another process builds.
    Raises MissingCompiler, BuildFailed.
    """
    if api_level not in _built:
        _built[api_level] = _find_or_build(api_level, progress)
    return _built[api_level]


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


def _find_or_build(api_level: int, progress: ProgressCallback) -> BuiltOp:
    prefix = emulator.build(progress=progress)
    directory = (
        cache_directory()
        / f"poplar-op-{hash_of_sources(f'{emulator.fingerprint(prefix)} {prefix}')}"
    )
    built = BuiltOp(directory / f"libipulse_lif_{api_level}.so", directory / CODELETS)
    if not mark_used(directory):

        def make(complete: Path, scratch: Path, steps: Steps) -> None:
            _compile(prefix, complete, scratch, steps)

        build_once("the LIF op for Poplar", "poplar-op", directory, CODELETS, make, progress)
    return built


def _compile(prefix: Path, complete: Path, scratch: Path, steps: Steps) -> None:
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
    link = ["-shared", "-Wl,-z,defs", f"-L{lib}", f"-Wl,-rpath,{lib}"]
    for level in LEVELS:
        of_level = [out for (_, at), out in objects.items() if at in (0, level)]
        out = str(complete / f"libipulse_lif_{level}.so")
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
