"""Compiles C++ sources to shared libraries on first use, and keeps them.

What is built lies under `$IPULSE_CACHE`, else `~/.cache/ipulse`, in a directory named after the
hashes of everything it was built from: sources, flags and TensorFlow, then the compiler. It is
built under another name and renamed when complete, by one process at a time. Where there is no
compiler, as in a container, what another machine built from the same sources is used.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess  # runs the compiler
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from ipulse_core.build_cache.scratch_directory import scratch_directory
from ipulse_core.build_cache.unused_builds import lock_of, locked, mark_used

Progress = Callable[[str], None]

COMPILERS = ("c++", "g++", "clang++")
COMPILER_FILE = "compiler.txt"  # beside each library: what its compiler said of its version
SOURCES_IN_A_UNIT = 10
WARNINGS = ("-Wall", "-Wextra", "-Werror")
# Jumps that cross 32 bytes or end there are decoded anew each time by Intel's Skylake and its
# successors to Cascade Lake: a short loop takes up to half as long again. For files with
# arch_flags, and compilers that know it.
ALIGNED_JUMPS = "-Wa,-mbranches-within-32B-boundaries"


class NativeError(RuntimeError):
    """The kernels cannot be built or loaded."""

    code = "native"


class MissingCompiler(NativeError):
    """No C++ compiler was found."""

    code = "missing_compiler"


class BuildFailed(NativeError):
    """The compiler refused the sources."""

    code = "build_failed"


def cache_directory() -> Path:
    """Where builds lie: `$IPULSE_CACHE`, else `~/.cache/ipulse`."""
    named = os.environ.get("IPULSE_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "ipulse"


def units(sources: Sequence[Path], scratch: Path, most: int = SOURCES_IN_A_UNIT) -> List[Path]:
    """Files in `scratch` that include at most so many sources each.

    The headers that these share, most of a compiler's work on them, are read once for all of them.
    Names of two sources that clash do not compile.
    """
    made = []
    for begin in range(0, len(sources), most):
        unit = scratch / f"unit-{begin}.cc"
        some = sources[begin : begin + most]
        unit.write_text("".join(f'#include "{source}"\n' for source in some), "utf-8")
        made.append(unit)
    return made


def compiler() -> Tuple[str, ...]:
    """The command of the C++ compiler: `$CXX`, which may carry arguments, else the first of c++,
    g++ and clang++ on PATH.

    Raises MissingCompiler.
    """
    named = os.environ.get("CXX")
    if named:
        command = tuple(shlex.split(named))
        if command and shutil.which(command[0]):
            return command
        raise MissingCompiler(f"CXX is {named!r}, which is no command; unset it or correct it")
    for name in COMPILERS:
        if shutil.which(name):
            return (name,)
    raise MissingCompiler(
        f"the CPU kernels need a C++17 compiler and none of {', '.join(COMPILERS)} is on PATH; "
        "install one (Debian: apt-get install g++) or set CXX to its path"
    )


def say_on_stderr(line: str) -> None:
    """A `progress` for who has no better place: a build takes long enough to be explained."""
    sys.stderr.write(f"{line}\n")


@dataclass(frozen=True)
class SharedLibrary:
    """A shared library as the recipe that makes it."""

    name: str  # what its directory's name begins with
    file: str  # for instance libname.so
    sources: Sequence[Path]
    headers: Sequence[Path]  # what the sources include of ours
    flags: Sequence[str]  # of every source
    link: Sequence[str] = ()
    # -I flags of our own headers. No part of the recipe, as the headers' contents are.
    includes: Sequence[str] = ()
    # Where the libraries that it links are found. No part of the recipe: a cache that is moved or
    # seen through links keeps what was built.
    link_directories: Sequence[Path] = ()
    # Flags by the end of a file's name, for x86-64 alone: elsewhere such a file is empty.
    arch_flags: Optional[Dict[str, Tuple[str, ...]]] = None
    # Names of sources that take long to compile, each by itself and begun first, as those with
    # arch_flags are; all others are compiled in units. None: every source by itself.
    apart: Optional[Sequence[str]] = None

    def build(self, progress: Optional[Progress] = None) -> Path:
        """Its path, built if it is not in the cache.

        progress: called with one line before a build and one after it.
        Raises MissingCompiler, BuildFailed.
        """
        present = self.find()
        if present is not None:
            return present
        command = compiler()
        version = version_of(command)
        directory = self._directory(command, version)
        built = directory / self.file
        directory.parent.mkdir(parents=True, exist_ok=True)
        with locked(lock_of(directory)):
            if built.exists():  # by another process, while this one waited
                return built
            say = progress or (lambda line: None)
            say(f"building {self.file} with {' '.join(command)} (once; kept in {directory})")
            start = time.monotonic()
            with scratch_directory(directory.parent, self.name) as scratch:
                complete = scratch / "complete"
                complete.mkdir()
                self._compile(command, complete / self.file, scratch)
                (complete / COMPILER_FILE).write_text(version, "utf-8")
                shutil.rmtree(directory, ignore_errors=True)  # of a crash between mkdir and rename
                complete.rename(directory)
            say(f"built {self.file} in {time.monotonic() - start:.1f} s")
        return built

    def find(self) -> Optional[Path]:
        """Its path if it is in the cache, made by the compiler of this machine; where there is
        none, by any. Raises BuildFailed if the compiler does not say its version."""
        try:
            command = compiler()
        except MissingCompiler:
            pattern = f"{self.name}-{self._hash()}-*/{self.file}"
            candidates = sorted(cache_directory().glob(pattern))
        else:
            version = version_of(command)
            candidates = [self._directory(command, version) / self.file]
        for built in candidates:
            if built.exists() and mark_used(built.parent):
                return built
        return None

    def _directory(self, command: Tuple[str, ...], version: str) -> Path:
        made_by = hashlib.sha256(repr((command, version)).encode()).hexdigest()[:16]
        return cache_directory() / f"{self.name}-{self._hash()}-{made_by}"

    def _hash(self) -> str:
        digest = hashlib.sha256()
        for path in (*self.headers, *self.sources):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        flags = (*self.flags, *self.link, self.arch_flags, ALIGNED_JUMPS)
        digest.update(repr((platform.machine(), *flags)).encode())
        return digest.hexdigest()[:16]

    def _compile(self, command: Sequence[str], target: Path, scratch: Path) -> None:
        by_arch = self.arch_flags or {}
        if platform.machine() != "x86_64":
            by_arch = {}
        if by_arch and takes_flag(command, ALIGNED_JUMPS, scratch):
            by_arch = {end: (*arch, ALIGNED_JUMPS) for end, arch in by_arch.items()}

        def compile_one(source: Path) -> str:
            arch = next((by_arch[end] for end in by_arch if source.stem.endswith(end)), ())
            out = str(scratch / f"{source.stem}.o")
            run_compiler(
                [*command, *self.flags, *self.includes, *arch, "-c", str(source), "-o", out]
            )
            return out

        apart: Sequence[Path] = self.sources
        small: Sequence[Path] = ()
        if self.apart is not None:
            names = tuple(self.arch_flags or ())
            apart = [s for s in self.sources if s.stem in self.apart or s.stem.endswith(names)]
            small = [source for source in self.sources if source not in apart]
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            objects = list(pool.map(compile_one, [*apart, *units(small, scratch)]))
        found = [f"-L{directory}" for directory in self.link_directories]
        link = ["-shared", "-pthread", "-o", str(target), *objects, *found, *self.link]
        run_compiler([*command, *link])


def tensorflow_flags() -> Tuple[List[str], List[str]]:
    """What compiles and what links an op library for the installed TensorFlow.

    Raises ImportError without TensorFlow.
    """
    import tensorflow as tf

    compile_flags: List[str] = tf.sysconfig.get_compile_flags()
    # Older releases name no standard and were built as C++14.
    named = any(flag.lstrip("-").startswith("std=") for flag in compile_flags)
    # As system headers, TensorFlow's own warnings are none of ours.
    includes = [flag.replace("-I", "-isystem", 1) for flag in compile_flags]
    return [*(() if named else ("-std=c++14",)), *includes], tf.sysconfig.get_link_flags()


def takes_flag(command: Sequence[str], flag: str, scratch: Path) -> bool:
    """Whether the compiler compiles with the flag, without a word about it."""
    source = scratch / "nothing.cc"
    source.write_text("", "utf-8")
    try:
        return not run_compiler([*command, flag, "-c", str(source), "-o", f"{source}.o"])
    except BuildFailed:
        return False


@lru_cache(maxsize=None)  # a job asks several times, and its first step waits
def version_of(command: Tuple[str, ...]) -> str:
    """All that a compiler says of itself. Raises BuildFailed."""
    return run_compiler([*command, "--version"])


def run_compiler(command: Sequence[str]) -> str:
    """What it printed. Raises BuildFailed with the first words of its complaint."""
    cure = "it must be a C++17 compiler that works (another can be named in CXX)"
    return run_tool(command, cure)


def run_tool(command: Sequence[str], cure: str) -> str:
    """What a tool of a build printed. Raises BuildFailed with its first words and the cure."""
    done = subprocess.run(  # noqa: S603 (the user's own tools, without a shell)
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    output = done.stdout.decode(errors="replace")
    if done.returncode < 0:
        raise BuildFailed(f"{command[0]} was ended by signal {-done.returncode}; run it again")
    if done.returncode != 0:
        lines = output.splitlines()
        first = next((i for i, line in enumerate(lines) if "error" in line), 0)
        words = "\n".join(lines[first : first + 8])
        raise BuildFailed(f"{command[0]} failed; {cure}. Its first words:\n{words}")
    return output
