"""Compiles the op against the emulator: its library with g++, its codelets with popc.

Against the SDK the same sources are compiled by `make` in this directory.
"""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from ipulse_core.build_cache.scratch_directory import scratch_directory
from ipulse_core.build_cache.shared_library import cache_directory, compiler, run_compiler, units
from ipulse_core.build_cache.unused_builds import lock_of, locked, mark_used
from ipulse_core.ipu import API_LEVEL
from ipulse_ops.lif.poplar.sources import FLAGS, LEVELS, SOURCES, BuiltOp, hash_of_sources
from poplar_emulator import build as emulator


# Once a process: sources that change while it runs are the next one's.
@lru_cache(maxsize=None)
def build(api_level: int = API_LEVEL) -> BuiltOp:
    """The op's library and codelets, built for every level if they are not in the cache.

    api_level: 4 for SDK 2.0 to 2.2, 5 for SDK 2.3 to 3.4.
    Raises MissingCompiler, BuildFailed.
    """
    prefix = emulator.build()
    directory = cache_directory() / f"poplar-op-{hash_of_sources(prefix.name)}"
    built = BuiltOp(directory / f"libipulse_lif_{api_level}.so", directory / "ipulse_lif.gp")
    if mark_used(directory):
        return built
    with locked(lock_of(directory)):
        if not directory.exists():
            with scratch_directory(directory.parent, "poplar-op") as scratch:
                complete = scratch / "complete"
                complete.mkdir()
                _compile(prefix, complete, scratch)
                _compile_codelets(prefix, complete / built.codelets.name, scratch)
                shutil.move(str(complete), str(directory))
    return built


def _compile(prefix: Path, complete: Path, scratch: Path) -> None:
    def compile_one(source: Path, level: int) -> str:
        out = str(scratch / f"{source.stem}-{level}.o")
        defined = f"-DIPU_OP_API_LEVEL={level}"
        run_compiler([*compiler(), *FLAGS, defined, *includes, "-c", str(source), "-o", out])
        return out

    includes = [f"-I{prefix / 'include'}", f"-I{SOURCES}"]
    compiled = sorted(SOURCES.rglob("*.cc"))
    exporting = [source for source in compiled if 'api_level.h"' in source.read_text("utf-8")]
    lib = prefix / "lib"
    link = ["-shared", f"-L{lib}", f"-Wl,-rpath,{lib}"]
    with ThreadPoolExecutor() as pool:
        shared = [source for source in compiled if source not in exporting]
        common = [pool.submit(compile_one, unit, 0) for unit in units(shared, scratch)]
        apart = scratch / "exporting"
        apart.mkdir()
        by_level = units(exporting, apart)
        own = {level: [pool.submit(compile_one, u, level) for u in by_level] for level in LEVELS}
        for level in LEVELS:
            objects = [future.result() for future in (*common, *own[level])]
            out = str(complete / f"libipulse_lif_{level}.so")
            libraries = ["-lpoplar", "-lpoplin", "-lpoputil", "-lpopops"]
            run_compiler([*compiler(), *FLAGS, *link, "-o", out, *objects, *libraries])


def _compile_codelets(prefix: Path, target: Path, scratch: Path) -> None:
    apart = scratch / "codelets"
    apart.mkdir()
    codelets = sorted(SOURCES.glob("codelets/*.cpp"))
    (unit,) = units(codelets, apart, most=len(codelets))
    run_compiler([str(prefix / "bin" / "popc"), "-O3", str(unit), "-o", str(target)])
