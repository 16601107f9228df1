"""The C++ compiler of this machine: finding it, running it, and the errors it can cause."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess  # runs the compiler
from functools import lru_cache
from pathlib import Path
from typing import List, Sequence, Tuple

COMPILERS = ("c++", "g++", "clang++")
WARNINGS = ("-Wall", "-Wextra", "-Werror")
SOURCES_PER_UNIT = 10
_SHOWN_LINES = 8  # of a compiler's output, in an error message


class NativeError(RuntimeError):
    """Native code cannot be built or loaded."""

    code = "native"


class MissingCompiler(NativeError):
    """No C++ compiler was found."""

    code = "missing_compiler"


class BuildFailed(NativeError):
    """A compiler or another build tool failed."""

    code = "build_failed"


def compiler() -> Tuple[str, ...]:
    """Return the command of the C++ compiler.

    `$CXX`, which may contain arguments, has precedence; otherwise the first of c++, g++ and
    clang++ on PATH is used. Raises MissingCompiler.
    """
    configured = os.environ.get("CXX")
    if configured:
        command = tuple(shlex.split(configured))
        if command and shutil.which(command[0]):
            return command
        raise MissingCompiler(f"CXX is {configured!r}, which is no command; unset it or correct it")
    for name in COMPILERS:
        if shutil.which(name):
            return (name,)
    raise MissingCompiler(
        f"a C++17 compiler is needed and none of {', '.join(COMPILERS)} is on PATH; "
        "install one (Debian: apt-get install g++) or set CXX to its path"
    )


def unity_sources(
    sources: Sequence[Path], scratch: Path, most: int = SOURCES_PER_UNIT
) -> List[Path]:
    """Write files to `scratch` that each include at most `most` sources, and return them.

    A unity build parses shared headers, most of the compiler's work, once per file. Two sources
    in one file must not define the same name.
    """
    made = []
    for begin in range(0, len(sources), most):
        unit = scratch / f"unit-{begin}.cc"
        batch = sources[begin : begin + most]
        unit.write_text("".join(f'#include "{source}"\n' for source in batch), "utf-8")
        made.append(unit)
    return made


def takes_flag(command: Sequence[str], flag: str, scratch: Path) -> bool:
    """Return whether the compiler accepts the flag without any output."""
    source = scratch / "nothing.cc"
    source.write_text("", "utf-8")
    try:
        return not run_compiler([*command, flag, "-c", str(source), "-o", f"{source}.o"])
    except BuildFailed:
        return False


@lru_cache(maxsize=None)  # a job asks several times, and its first step waits
def version_of(command: Tuple[str, ...]) -> str:
    """Return the compiler's whole version text. Raises BuildFailed."""
    return run_compiler([*command, "--version"])


def run_compiler(command: Sequence[str]) -> str:
    """Run the compiler and return its output. Raises BuildFailed with its first error."""
    hint = "it must be a C++17 compiler that works (another can be named in CXX)"
    return run_tool(command, hint)


def run_tool(command: Sequence[str], hint: str) -> str:
    """Run a build tool and return its output.

    Raises BuildFailed with the hint and the tool's first error.
    """
    done = subprocess.run(  # noqa: S603 (the user's own tools, without a shell)
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    output = done.stdout.decode(errors="replace")
    if done.returncode < 0:
        raise BuildFailed(f"{command[0]} was ended by signal {-done.returncode}; run it again")
    if done.returncode != 0:
        lines = output.splitlines()
        first = next((i for i, line in enumerate(lines) if "error" in line), 0)
        shown = "\n".join(lines[first : first + _SHOWN_LINES])
        raise BuildFailed(f"{command[0]} failed; {hint}. Its first error:\n{shown}")
    return output
