"""The emulator's build: a prefix that stands in for the SDK, with include/, lib/ and bin/popc.

A wheel may contain the prefix. Otherwise it is built on first use in the cache directory
(`$IPULSE_CACHE`, else `~/.cache/ipulse`), by one process at a time, under the hash of the sources,
the compiler and the flags. `python -m poplar_emulator.build` prints its path.
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
from ipulse_core.build_cache.shipped import FOLDER, find_shipped, ship
from ipulse_core.build_cache.toolchain import compiler, run_compiler, unity_sources, version_of
from ipulse_core.build_cache.unused_builds import mark_used

SOURCES = Path(__file__).resolve().parent
LIBRARY = "lib/libpoplar.so"
POPC = "bin/popc"
FINGERPRINT_FILE = "fingerprint.txt"
# Programs link these with -l<name>. One library contains them all, under each of the SDK's names.
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
# Unity builds: each parses the headers, which takes longer than most sources. More of them make the
# progress smoother and cost CPU time: 42 s with 2, 50 s with 8.
UNITS = 6
FLAGS = ("-std=c++17", "-fPIC", "-pthread", "-Wall", "-Wextra", "-Werror")
OPTIMIZED = ("-O2",)
SANITIZED = ("-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def build(sanitized: bool = False, progress: ProgressCallback = print_progress) -> Path:
    """Return the path of the prefix; build it if it is neither shipped nor in the cache.

    sanitized: with AddressSanitizer and UndefinedBehaviorSanitizer, as programs must be, too.
    progress: called before a build, after each of its steps and while another process builds.
    Raises MissingCompiler, BuildFailed.
    """
    flags = (*FLAGS, *(SANITIZED if sanitized else OPTIMIZED))
    recipe = _recipe(flags)
    shipped = None if sanitized else find_shipped(SOURCES / FOLDER, LIBRARY, recipe)
    if shipped is not None:
        return shipped
    made_from = _with_compiler(recipe)
    prefix = cache_directory() / f"emulator-{made_from}"
    if not mark_used(prefix):
        what = "the sanitized emulator" if sanitized else "the emulator"
        name = "emulator-sanitized" if sanitized else "emulator"
        build_once(what, name, prefix, POPC, partial(_make, flags, made_from), progress)
    return prefix


def ship_prefix(folder: Path) -> None:
    """Put the prefix into a new folder for a wheel. Raises MissingCompiler, BuildFailed."""
    ship(build(), folder, _recipe((*FLAGS, *OPTIMIZED)))


def fingerprint(prefix: Path) -> str:
    """Return a hash of all that a prefix was built from, with the compiler."""
    return (prefix / FINGERPRINT_FILE).read_text("utf-8")


def program_flags(prefix: Path) -> Tuple[str, ...]:
    """Return the flags that compile and link a Poplar host program against a prefix."""
    lib = prefix / "lib"
    names = [f"-l{name}" for name in ("poplar", *LIBRARIES)]
    return ("-std=c++17", f"-I{prefix / 'include'}", f"-L{lib}", f"-Wl,-rpath,{lib}", *names)


def _make(flags: Sequence[str], made_from: str, prefix: Path, scratch: Path, steps: Steps) -> None:
    command = compiler()
    for name in ("lib", "bin"):
        (prefix / name).mkdir()
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
    library = prefix / LIBRARY
    link = ["-shared", "-Wl,-soname,libpoplar.so", "-o", str(library), *objects, "-ldl"]
    run_compiler([*command, *flags, *link])
    for name in LIBRARIES:  # for the linker; a wheel cannot contain symbolic links
        (prefix / "lib" / f"lib{name}.so").write_text("INPUT(-lpoplar)\n", "utf-8")
    popc = ["-L" + str(library.parent), "-lpoplar", "-Wl,-rpath,$ORIGIN/../lib"]
    run_compiler([*command, *flags, main_object, "-o", str(prefix / POPC), *popc])
    (prefix / FINGERPRINT_FILE).write_text(made_from, "utf-8")
    steps.finish_one()


def _recipe(flags: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for path in sorted(SOURCES.glob("**/*")):
        name = path.relative_to(SOURCES)
        source = path.suffix in (".cc", ".h", ".hpp") or name.parts[0] == "include"
        if source and path.is_file() and name.parts[0] != FOLDER:
            digest.update(str(name).encode() + b"\0" + path.read_bytes())
    digest.update(repr((platform.machine(), LIBRARIES, *flags)).encode())
    return digest.hexdigest()


def _with_compiler(recipe: str) -> str:
    command = compiler()
    text = repr((recipe, command, version_of(command)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


if __name__ == "__main__":
    sys.stdout.write(f"{build()}\n")
