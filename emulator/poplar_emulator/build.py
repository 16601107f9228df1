"""The emulator's build: a prefix that stands in for the SDK, with headers, libraries and popc.

A wheel may contain the prefix. Otherwise it is built on first use in the cache directory
(`$IPULSE_CACHE`, else `~/.cache/ipulse`), by one process at a time, under the hash of the sources,
the compiler and the flags. `python -m poplar_emulator.build` prints its path.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Dict, List, NamedTuple, Sequence, Tuple

from ipulse_core.build_cache.build_once import Steps, build_once
from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.progress import ProgressCallback, print_progress
from ipulse_core.build_cache.shipped import FOLDER, find_shipped, ship
from ipulse_core.build_cache.toolchain import compiler, run_compiler, unity_sources, version_of
from ipulse_core.build_cache.unused_builds import mark_used

SOURCES = Path(__file__).resolve().parent
LIBRARY = "lib/libpoplar.so"
CUSTOM_OP_LIBRARY = "lib/libpoplar_custom_op.so"
POPC = "bin/popc"
FINGERPRINT_FILE = "fingerprint.txt"
SDK_FILES = SOURCES / "sdk_files"  # files of the prefix that are not compiled
# With it, popc compiles a check before each access of a codelet to memory, and graphs are checked
# for races below a word and for fields without a value.
SANITIZE_VARIABLE = "IPULSE_EMULATOR_SANITIZE"


class _Library(NamedTuple):
    sources: str  # a folder, or a file in a folder of another library
    needs: Tuple[str, ...]


# The SDK's libraries, with those that each is linked with, in the order of linking. libpva and
# libpoplar need each other.
_LIBRARIES: Dict[str, _Library] = {
    "pva": _Library("engine/profile/pva_report.cc", ()),
    "poplar": _Library(".", ("pva",)),
    "poputil": _Library("poplibs/poputil", ("poplar",)),
    "popops": _Library("poplibs/popops", ("poputil", "poplar")),
    "poprand": _Library("poplibs/poprand", ("popops", "poputil", "poplar")),
    "poplin": _Library("poplibs/poplin", ("popops", "poputil", "poplar")),
    "popsparse": _Library("poplibs/popsparse", ("poplin", "popops", "poputil", "poplar")),
    "popnn": _Library("poplibs/popnn", ("poplin", "popops", "poputil", "poplar")),
    "gcl": _Library("poplibs/gcl", ("popops", "poputil", "poplar")),
    "popfloat": _Library("poplibs/popfloat", ("poplar",)),
    "pvti": _Library("poplibs/pvti", ()),
}
# Programs link these with -l<name>, and libpoplar.
LIBRARIES = tuple(name for name in reversed(list(_LIBRARIES)) if name != "poplar")
# Unity builds: each parses the headers, which takes longer than most sources.
UNITS_OF_POPLAR = 4
FLAGS = ("-std=c++17", "-fPIC", "-pthread", "-Wall", "-Wextra", "-Werror")
OPTIMIZED = ("-O2",)
# Libraries are found by this path before LD_LIBRARY_PATH, in which an enabled SDK has libraries of
# the same names.
RUN_PATH = "-Wl,--disable-new-dtags,-rpath,"
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
    """Return a hash of all that a prefix was built from, with the compiler.

    Under SANITIZE_VARIABLE it is another one, because popc compiles other codelets.
    """
    checked = " sanitized" if os.environ.get(SANITIZE_VARIABLE, "0") not in ("", "0") else ""
    return (prefix / FINGERPRINT_FILE).read_text("utf-8") + checked


def program_flags(prefix: Path) -> Tuple[str, ...]:
    """Return the flags that compile and link a Poplar host program against a prefix."""
    lib = prefix / "lib"
    names = [f"-l{name}" for name in ("poplar", *LIBRARIES)]
    return ("-std=c++17", f"-I{prefix / 'include'}", f"-L{lib}", f"{RUN_PATH}{lib}", *names)


def _make(flags: Sequence[str], made_from: str, prefix: Path, scratch: Path, steps: Steps) -> None:
    command = compiler()
    shutil.copytree(SDK_FILES, prefix, dirs_exist_ok=True)
    _complete_cmake(prefix / "lib" / "cmake")
    shutil.copytree(SOURCES / "include", prefix / "include")
    includes = [f"-I{SOURCES / 'include'}", f"-I{SOURCES / 'engine'}", f"-I{SOURCES}"]

    def compile_one(unit: Path) -> str:
        out = str(scratch / f"{unit.parent.name}-{unit.stem}.o")
        run_compiler([*command, *flags, *includes, "-c", str(unit), "-o", out])
        return out

    main = SOURCES / "popc" / "main.cc"
    units = {name: _units(name, scratch) for name in (*_LIBRARIES, "poplar_custom_op")}
    flat = [*(unit for of_one in units.values() for unit in of_one), main]
    steps.begin(len(flat) + 1)
    objects = dict(zip(flat, steps.run([partial(compile_one, unit) for unit in flat])))
    needs = {name: library.needs for name, library in _LIBRARIES.items()}
    needs["poplar_custom_op"] = (*LIBRARIES, "poplar")
    for name, needed in needs.items():
        out = prefix / "lib" / f"lib{name}.so"
        link = ["-shared", f"-Wl,-soname,{out.name}", "-Wl,--no-as-needed", "-o", str(out)]
        linked = [f"-L{out.parent}", f"{RUN_PATH}$ORIGIN", *(f"-l{other}" for other in needed)]
        compiled = [objects[unit] for unit in units[name]]
        run_compiler([*command, *flags, *link, *compiled, *linked, "-ldl"])
    library = prefix / LIBRARY
    main_object = objects[main]
    popc = ["-L" + str(library.parent), "-lpoplar", f"{RUN_PATH}$ORIGIN/../lib"]
    run_compiler([*command, *flags, main_object, "-o", str(prefix / POPC), *popc])
    (prefix / FINGERPRINT_FILE).write_text(made_from, "utf-8")
    steps.finish_one()


def _complete_cmake(folder: Path) -> None:
    """Write the libraries into CMake's package poplar, and a package for each that includes it."""
    package = folder / "poplar" / "poplar-config.cmake"
    needs = (
        f'set_property(TARGET {name} PROPERTY INTERFACE_LINK_LIBRARIES "{";".join(library.needs)}")'
        for name, library in _LIBRARIES.items()
        if library.needs
    )
    text = package.read_text("utf-8").replace("@LIBRARIES@", " ".join(_LIBRARIES))
    package.write_text(text.replace("@NEEDS@", "\n".join(needs)), "utf-8")
    for name in ("poplibs", *LIBRARIES):
        (folder / name).mkdir()
        for kind in ("config", "config-version"):
            text = f'include("${{CMAKE_CURRENT_LIST_DIR}}/../poplar/poplar-{kind}.cmake")\n'
            (folder / name / f"{name}-{kind}.cmake").write_text(text, "utf-8")


def _units(library: str, scratch: Path) -> List[Path]:
    """Write the files that each include several sources of a library, and return them."""
    pva = SOURCES / _LIBRARIES["pva"].sources
    if library == "pva":
        sources = [pva]
    elif library == "poplar_custom_op":
        sources = sorted((SOURCES / "custom_op").rglob("*.cc"))
    elif library == "poplar":
        apart = (pva, SOURCES / "popc" / "main.cc")
        found = [*(SOURCES / "engine").rglob("*.cc"), *(SOURCES / "popc").rglob("*.cc")]
        sources = [path for path in sorted(found) if path not in apart]
    else:
        sources = sorted((SOURCES / _LIBRARIES[library].sources).rglob("*.cc"))
    folder = scratch / library
    folder.mkdir()
    units = UNITS_OF_POPLAR if library == "poplar" else 1
    return unity_sources(sources, folder, -(-len(sources) // units))


def _recipe(flags: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for path in sorted(SOURCES.glob("**/*")):
        name = path.relative_to(SOURCES)
        source = path.suffix in (".cc", ".h", ".hpp") or name.parts[0] in (
            "include",
            SDK_FILES.name,
        )
        if source and path.is_file() and name.parts[0] != FOLDER:
            digest.update(str(name).encode() + b"\0" + path.read_bytes())
    digest.update(repr((platform.machine(), sorted(_LIBRARIES.items()), RUN_PATH, *flags)).encode())
    return digest.hexdigest()


def _with_compiler(recipe: str) -> str:
    command = compiler()
    text = repr((recipe, command, version_of(command)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


if __name__ == "__main__":
    sys.stdout.write(f"{build()}\n")
