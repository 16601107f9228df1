"""C++ under the compiler's sanitizers: memory, undefined behaviour, data races.

TensorFlow's process cannot be built for one, so that ops run on stand_in/, as much of TensorFlow
as they use: tensors in memory of exactly their size, and threads of its own.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import List

import pytest

from ipulse_core.build_cache.toolchain import compiler

SANITIZERS = ("address,undefined", "thread")
STAND_IN = Path(__file__).with_name("stand_in")
LIMIT = 240  # seconds to compile, and to run, which take a tenth of that: a deadlock ends
# Compiling takes most of the time.
FLAGS = ("-O0", "-g1", "-fno-sanitize-recover=all")


def compiler_with(directory: Path, sanitizer: str) -> List[str]:
    """The compiler's command with a sanitizer; skips the test where its runtime is missing."""
    flag = f"-fsanitize={sanitizer}"
    probe = directory / "probe.cc"
    probe.write_text("int main() { return 0; }\n")
    program = str(directory / "probe")
    command = compiler()
    tried = subprocess.run([*command, flag, str(probe), "-o", program], check=False)
    if tried.returncode or subprocess.run([program], check=False).returncode:
        pytest.skip(f"{' '.join(command)} has no runtime for {flag} that works here")
    return [*command, flag]


def printed(program: Path) -> str:
    """The output of a program that finds no errors."""
    done = subprocess.run([str(program)], capture_output=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()[:4000]
    return done.stdout.decode()
