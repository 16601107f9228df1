"""Runs the C++ programs of this directory, compiled against the emulator.

With ALL_SANITIZED set in the environment, they and the emulator are compiled with ASan and UBSan.
Tests that load the emulator into Python's process use the ordinary build.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Callable, Dict, Tuple

import pytest

from tests.emulator.compiled import PROGRAMS, compile_program, prefix_of

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def prefix() -> Path:
    """The emulator's include/, lib/ and bin/."""
    return prefix_of(False)


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    """The environment of the programs: a codelet cache of their own, no options from outside."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("POPLAR_", "IPULSE_"))}
    options = json.dumps({"debug.poisonOutputs": "true"})  # an unwritten element is seen
    cache = str(tmp_path_factory.mktemp("codelets"))
    return {**kept, "IPULSE_CACHE": cache, "POPLAR_ENGINE_OPTIONS": options}


@pytest.fixture(scope="session")
def run_program(environment: Dict[str, str]) -> Run:
    """Runs a program of `programs/`: run_program("rules", "case") -> its completed process."""

    def run(
        name: str, *arguments: str, sanitized: bool = False, more: Tuple[Tuple[str, str], ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(compile_program(PROGRAMS / f"{name}.cpp", sanitized)), *arguments],
            env={**environment, **dict(more)},
            cwd=PROGRAMS,
            capture_output=True,
            text=True,
            check=False,
        )

    return run
