"""Builds the emulator as a prefix that stands in for the SDK: include/, lib/ and bin/popc.

`python -m poplar_emulator.build` prints the prefix. It lies under `$IPULSE_CACHE`, else
`~/.cache/ipulse`, in a directory named after the hash of the sources, the compiler and the flags,
and is renamed there when complete, by one process at a time.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Sequence, Tuple

from ipulse_core.build_cache.build_once import Steps, build_once
from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.progress import ProgressCallback, print_progress
from ipulse_core.build_cache.toolchain import compiler, run_compiler, unity_sources
from ipulse_core.build_cache.unused_builds import mark_used

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
OPTIMIZED = ("-O2",)
SANITIZED = ("-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def build(sanitized: bool = False, progress: ProgressCallback = print_progress) -> Path:
    """Return the prefix; build it if it is not in the cache.

    sanitized: with AddressSanitizer and UndefinedBehaviorSanitizer; programs must be, too.
    progress: called before a build, after each of its steps and while another process builds.
    Raises MissingCompiler, BuildFailed.
    """
    command = compiler()
    flags = (*FLAGS, *(SANITIZED if sanitized else OPTIMIZED))
    prefix = cache_directory() / f"emulator-{_hash(command, flags)}"
    if not mark_used(prefix):

        def make(complete: Path, scratch: Path, steps: Steps) -> None:
            _make(command, flags, complete, scratch, steps)

        what = "the sanitized emulator" if sanitized else "the emulator"
        name = "emulator-sanitized" if sanitized else "emulator"
        build_once(what, name, prefix, "bin/popc", make, progress)
    return prefix


def program_flags(prefix: Path) -> Tuple[str, ...]:
    """What g++ needs to compile and link a Poplar host program against a prefix."""
    lib = prefix / "lib"
    names = [f"-l{name}" for name in ("poplar", *LIBRARIES)]
    return ("-std=c++17", f"-I{prefix / 'include'}", f"-L{lib}", f"-Wl,-rpath,{lib}", *names)


def _make(
    command: Sequence[str], flags: Sequence[str], prefix: Path, scratch: Path, steps: Steps
) -> None:
    for name in ("lib", "bin"):
        (prefix / name).mkdir(parents=True)
    shutil.copytree(SOURCES / "include", prefix / "include")
    includes = [f"-I{SOURCES / 'include'}", f"-I{SOURCES / 'engine'}", f"-I{SOURCES}"]

    def compile_one(unit: Path) -> str:
        out = str(scratch / f"{unit.stem}.o")
        run_compiler([*command, *flags, *includes, "-c", str(unit), "-o", out])
        return out

    main = SOURCES / "popc" / "main.cc"
    sources = [path for path in sorted(SOURCES.rglob("*.cc")) if path != main]
    units = [*unity_sources(sources, scratch, -(-len(sources) // UNITS)), main]
    steps.begin(len(units) + 1)
    *objects, main_object = steps.run([partial(compile_one, unit) for unit in units])
    library = prefix / "lib" / "libpoplar.so"
    link = ["-shared", "-Wl,-soname,libpoplar.so", "-o", str(library), *objects, "-ldl"]
    run_compiler([*command, *flags, *link])
    for name in LIBRARIES:
        (prefix / "lib" / f"lib{name}.so").symlink_to(library.name)
    popc = ["-L" + str(library.parent), "-lpoplar", "-Wl,-rpath,$ORIGIN/../lib"]
    run_compiler([*command, *flags, main_object, "-o", str(prefix / "bin" / "popc"), *popc])
    steps.finish_one()


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
    sys.stdout.write(f"{build()}\n")
