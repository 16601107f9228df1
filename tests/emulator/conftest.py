"""Compiles the C++ programs of this directory against the emulator, once per test session.

With ALL_SANITIZED set in the environment, they and the emulator are compiled with ASan and UBSan.
Tests that load the emulator into Python's process use the ordinary build.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Callable, Dict, Tuple

import pytest

from ipulse_ops.lif.cpu.native import compiler
from poplar_emulator.build import SANITIZED, build, program_flags

PROGRAMS = Path(__file__).resolve().parent / "programs"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


ALL_SANITIZED = bool(os.environ.get("ALL_SANITIZED"))


# Once per session: a change of the sources takes effect in the next session.
@lru_cache(maxsize=None)
def prefix_of(sanitized: bool) -> Path:
    return build(sanitized or ALL_SANITIZED)


@pytest.fixture(scope="session")
def prefix() -> Path:
    """The emulator's include/, lib/ and bin/."""
    return prefix_of(False)


def compile_program(source: Path, out: Path, sanitized: bool = False) -> Path:
    target = prefix_of(sanitized)
    flags = SANITIZED if sanitized or ALL_SANITIZED else ("-O0",)
    command = [*compiler(), *flags, "-Wall", "-Wextra", "-Werror", str(source), "-o", str(out)]
    subprocess.run([*command, *program_flags(target)], check=True)
    return out


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    """The environment of the programs: a codelet cache of their own, no options from outside."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("POPLAR_", "IPULSE_"))}
    options = json.dumps({"debug.poisonOutputs": "true"})  # an unwritten element is seen
    cache = str(tmp_path_factory.mktemp("codelets"))
    return {**kept, "IPULSE_CACHE": cache, "POPLAR_ENGINE_OPTIONS": options}


@pytest.fixture(scope="session")
def run_program(environment: Dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a program of `programs/`: run_program("rules", "case") -> its completed process."""
    directory = tmp_path_factory.mktemp("programs")

    @lru_cache(maxsize=None)
    def compiled(name: str, sanitized: bool) -> Path:
        out = directory / f"{name}{'-sanitized' if sanitized else ''}"
        return compile_program(PROGRAMS / f"{name}.cpp", out, sanitized)

    def run(
        name: str, *arguments: str, sanitized: bool = False, more: Tuple[Tuple[str, str], ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(compiled(name, sanitized)), *arguments],
            env={**environment, **dict(more)},
            cwd=PROGRAMS,
            capture_output=True,
            text=True,
            check=False,
        )

    return run
