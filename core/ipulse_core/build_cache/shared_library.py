"""Shared libraries that are compiled from C++ sources on first use, and cached.

A library is stored in the cache directory, in a directory named after the hashes of everything it
was built from: sources and flags, then the compiler. One process at a time builds it under another
name and renames the complete result. A machine without a compiler, such as a container, uses a
library that another machine built from the same sources.
"""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from ipulse_core.build_cache.build_once import Steps, build_once
from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.progress import ProgressCallback, print_progress
from ipulse_core.build_cache.shipped import find_shipped, ship
from ipulse_core.build_cache.toolchain import (
    MissingCompiler,
    compiler,
    run_compiler,
    takes_flag,
    unity_sources,
    version_of,
)
from ipulse_core.build_cache.unused_builds import mark_used

COMPILER_FILE = "compiler.txt"  # next to each library: its compiler's version text
# Skylake to Cascade Lake decode jumps that cross or end at a multiple of 32 bytes anew each time,
# which makes a short loop up to half as long again. For files with arch_flags, and compilers that
# know the flag.
ALIGNED_JUMPS = "-Wa,-mbranches-within-32B-boundaries"


@dataclass(frozen=True)
class SharedLibrary:
    """The recipe of a shared library."""

    name: str  # what its directory's name begins with
    file: str  # for instance libname.so
    sources: Sequence[Path]
    headers: Sequence[Path]  # included by the sources, from this project
    flags: Sequence[str]  # of every source
    link: Sequence[str] = ()
    # -I flags of the headers above. The hash covers the headers' contents instead of these.
    includes: Sequence[str] = ()
    # Directories of the libraries that it links, for the linker only. The hash leaves them out, so
    # that a cache can be moved.
    link_directories: Sequence[Path] = ()
    # More flags by the end of a file's name, for x86-64 only: elsewhere such a file is empty.
    arch_flags: Optional[Dict[str, Tuple[str, ...]]] = None
    # Names of sources that take long: each is compiled by itself, before the others, as are those
    # with arch_flags. The others are compiled in unity builds. None: every source by itself.
    separate: Optional[Sequence[str]] = None
    # A directory that `ship` filled while a wheel was built; it need not exist.
    shipped: Optional[Path] = None

    def build(self, progress: ProgressCallback = print_progress) -> Path:
        """Return the library's path; build it if it is not in the cache.

        progress: called at the beginning, after each step and while another process builds it.
        Raises MissingCompiler, BuildFailed.
        """
        present = self.find()
        if present is not None:
            return present
        command = compiler()
        directory = self._directory(command, version_of(command))
        return build_once(self.file, self.name, directory, self.file, self._make, progress)

    def ship(self, folder: Path, progress: ProgressCallback = print_progress) -> None:
        """Put the built library into a new folder for a wheel.

        Raises MissingCompiler, BuildFailed.
        """
        ship(self.build(progress).parent, folder, self.recipe())

    def find(self) -> Optional[Path]:
        """Return the library's path if it was shipped or is in the cache, else None.

        A shipped library must be from the same recipe. A library of the cache must also be from
        this machine's compiler; if there is no compiler, from any.
        Raises BuildFailed if the compiler does not report its version.
        """
        if self.shipped is not None and find_shipped(self.shipped, self.file, self.recipe()):
            return self.shipped / self.file
        try:
            command = compiler()
        except MissingCompiler:
            pattern = f"{self.name}-{self.recipe()}-*/{self.file}"
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
        return cache_directory() / f"{self.name}-{self.recipe()}-{made_by}"

    def recipe(self) -> str:
        """Return the hash of all that the library is built from, but the compiler."""
        digest = hashlib.sha256()
        for path in (*self.headers, *self.sources):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        flags = (*self.flags, *self.link, self.arch_flags, ALIGNED_JUMPS)
        digest.update(repr((platform.machine(), *flags)).encode())
        return digest.hexdigest()[:16]

    def _make(self, complete: Path, scratch: Path, steps: Steps) -> None:
        command = compiler()
        self._compile(command, complete / self.file, scratch, steps)
        (complete / COMPILER_FILE).write_text(version_of(command), "utf-8")

    def _compile(self, command: Sequence[str], target: Path, scratch: Path, steps: Steps) -> None:
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

        separate: Sequence[Path] = self.sources
        small: Sequence[Path] = ()
        if self.separate is not None:
            ends = tuple(self.arch_flags or ())
            separate = [s for s in self.sources if s.stem in self.separate or s.stem.endswith(ends)]
            small = [source for source in self.sources if source not in separate]
        units = [*separate, *unity_sources(small, scratch)]
        steps.begin(len(units) + 1)
        objects = steps.run([partial(compile_one, unit) for unit in units])
        found = [f"-L{directory}" for directory in self.link_directories]
        link = ["-shared", "-pthread", "-o", str(target), *objects, *found, *self.link]
        run_compiler([*command, *link])
        steps.finish_one()


def tensorflow_flags() -> Tuple[List[str], List[str]]:
    """Return the flags that compile and link an op library for the installed TensorFlow.

    Raises ImportError without TensorFlow.
    """
    import tensorflow as tf

    compile_flags: List[str] = tf.sysconfig.get_compile_flags()
    # Older releases name no standard; they were built as C++14.
    named = any(flag.lstrip("-").startswith("std=") for flag in compile_flags)
    # System headers cause no warnings.
    includes = [flag.replace("-I", "-isystem", 1) for flag in compile_flags]
    return [*(() if named else ("-std=c++14",)), *includes], tf.sysconfig.get_link_flags()
