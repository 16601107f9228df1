"""The NEON kernel, compiled for 64-bit ARM, and run where QEMU or an ARM machine can."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ipulse_ops.lif.cpu import libraries
from tests.ops.lif.cpu.drivers import all_kernels

COMPILER = "aarch64-linux-gnu-g++"
EMULATOR = "qemu-aarch64-static"

pytestmark = [
    pytest.mark.skipif(
        shutil.which(COMPILER) is None,
        reason=f"{COMPILER} is not here (Debian: apt-get install g++-aarch64-linux-gnu)",
    ),
]


def test_the_kernel_compiles_without_a_warning() -> None:
    source = libraries.SOURCES / "kernels" / "instruction_sets" / "arm_neon.cc"
    command = [
        COMPILER,
        "-std=c++17",
        *libraries.COMMON_FLAGS,
        "-fsyntax-only",
        *libraries.INCLUDES,
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[:4000]


@pytest.mark.verify
@pytest.mark.skipif(
    shutil.which(EMULATOR) is None,
    reason=f"{EMULATOR} is not here (Debian: apt-get install qemu-user-static)",
)
def test_the_kernel_agrees_with_plain_code(tmp_path: Path) -> None:
    program = str(tmp_path / "all_kernels")
    files = [str(path) for path in (*all_kernels.sources(tmp_path), all_kernels.DRIVER)]
    flags = ["-std=c++17", *libraries.COMMON_FLAGS, "-O0", "-static", *libraries.INCLUDES]
    subprocess.run([COMPILER, *flags, *files, "-o", program], check=True)
    done = subprocess.run([EMULATOR, program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[:4000]
    results = all_kernels.results(done.stdout.decode())
    assert list(results) == ["arm_neon", "scalar"]
    all_kernels.assert_agreement(results)
