"""Builds the emulator as a prefix that stands in for the SDK: include/, lib/ and bin/popc.

`python -m poplar_emulator.build` prints the prefix. It lies under `$IPULSE_CACHE`, else
`~/.cache/ipulse`, in a directory named after the hash of the sources, the compiler and the flags,
and is renamed there when complete, by one process at a time.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, Optional, Sequence, Tuple

from ipulse_core.build_cache.scratch_directory import scratch_directory
from ipulse_core.build_cache.shared_library import (
    cache_directory,
    compiler,
    run_compiler,
    say_on_stderr,
    units,
)
from ipulse_core.build_cache.unused_builds import lock_of, locked, mark_used

SOURCES = Path(__file__).resolve().parent
# What a program links with -l<name>: one library has them all, under each of the SDK's names.
LIBRARIES = (
    "poputil",
    "popops",
    "poplin",
    "popnn",
    "poprand",
    "popsparse",
    "popfloat",
    "gcl",
    "pva",
    "pvti",
)
# Each reads the headers, which takes longer than what is in a source; and is a processor's.
UNITS = 2
FLAGS = ("-std=c++17", "-fPIC", "-pthread", "-Wall", "-Wextra", "-Werror")
OPTIMISED = ("-O2",)
SANITISED = ("-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def build(sanitised: bool = False, progress: Optional[Callable[[str], None]] = None) -> Path:
    """The prefix, built if it is not in the cache.

    sanitised: with AddressSanitizer and UndefinedBehaviorSanitizer; programs must be, too.
    progress: called with one line before a build.
    Raises MissingCompiler, BuildFailed.
    """
    command = compiler()
    flags = (*FLAGS, *(SANITISED if sanitised else OPTIMISED))
    prefix = cache_directory() / f"emulator-{_hash(command, flags)}"
    if mark_used(prefix):
        return prefix
    prefix.parent.mkdir(parents=True, exist_ok=True)
    with locked(lock_of(prefix)):
        if prefix.exists():  # by another process, while this one waited
            return prefix
        if progress:
            progress(f"building the emulator with {' '.join(command)} (once; kept in {prefix})")
        with scratch_directory(prefix.parent, "emulator") as scratch:
            complete = scratch / "complete"
            _make(command, flags, complete, scratch)
            complete.rename(prefix)
    return prefix


def program_flags(prefix: Path) -> Tuple[str, ...]:
    """What g++ needs to compile and link a Poplar host program against a prefix."""
    lib = prefix / "lib"
    names = [f"-l{name}" for name in ("poplar", *LIBRARIES)]
    return ("-std=c++17", f"-I{prefix / 'include'}", f"-L{lib}", f"-Wl,-rpath,{lib}", *names)


def _make(command: Sequence[str], flags: Sequence[str], prefix: Path, scratch: Path) -> None:
    for name in ("lib", "bin"):
        (prefix / name).mkdir(parents=True)
    shutil.copytree(SOURCES / "include", prefix / "include")
    includes = [f"-I{SOURCES / 'include'}", f"-I{SOURCES / 'engine'}", f"-I{SOURCES}"]

    def compile_one(unit: Path) -> str:
        out = str(unit.with_suffix(".o"))
        run_compiler([*command, *flags, *includes, "-c", str(unit), "-o", out])
        return out

    main = SOURCES / "popc" / "main.cc"
    sources = [path for path in sorted(SOURCES.rglob("*.cc")) if path != main]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        most = -(-len(sources) // UNITS)
        objects = list(pool.map(compile_one, units(sources, scratch, most)))
    library = prefix / "lib" / "libpoplar.so"
    link = ["-shared", "-Wl,-soname,libpoplar.so", "-o", str(library), *objects, "-ldl"]
    run_compiler([*command, *flags, *link])
    for name in LIBRARIES:
        (prefix / "lib" / f"lib{name}.so").symlink_to(library.name)
    popc = ["-L" + str(library.parent), "-lpoplar", "-Wl,-rpath,$ORIGIN/../lib"]
    run_compiler(
        [*command, *flags, *includes, str(main), "-o", str(prefix / "bin" / "popc"), *popc]
    )


def _hash(command: Sequence[str], flags: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for path in sorted(SOURCES.glob("**/*")):
        if path.suffix in (".cc", ".h", ".hpp"):
            name = str(path.relative_to(SOURCES))
            digest.update(name.encode() + b"\0" + path.read_bytes())
    digest.update(run_compiler([*command, "--version"]).encode())
    digest.update(repr((platform.machine(), *command, *flags)).encode())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    sys.stdout.write(f"{build(progress=say_on_stderr)}\n")
