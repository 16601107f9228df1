"""The kernels and the TensorFlow ops on top of them under the compiler's sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Dict

import pytest

from ipulse_ops.lif.cpu import libraries, native
from tests.ops.lif.cpu.drivers import all_kernels
from tests.ops.sanitized import FLAGS, LIMIT, SANITIZERS, STAND_IN, compiler_with, printed

OPS_DRIVER = all_kernels.DRIVER.with_name("all_ops.cc")


def build(directory: Path, sanitizer: str) -> Dict[Path, Path]:
    """Compiles the kernels with a sanitizer, once for both drivers; the program of each."""
    compiler = compiler_with(directory, sanitizer)
    kernels = all_kernels.sources(directory)
    drivers = (OPS_DRIVER, all_kernels.DRIVER)
    includes = [*libraries.INCLUDES, f"-I{STAND_IN}"]
    jobs = {}
    for source in (*drivers, *kernels):
        arch = next((a for end, a in libraries.ARCH_FLAGS.items() if source.stem.endswith(end)), ())
        flags = [*libraries.COMMON_FLAGS, "-std=c++17", *FLAGS, *arch, *includes]
        out = str(directory / f"{source.stem}.o")
        jobs[source] = subprocess.Popen([*compiler, *flags, "-c", str(source), "-o", out])
    try:
        assert all(job.wait(LIMIT) == 0 for job in jobs.values())
    finally:
        for job in jobs.values():
            job.kill()  # nothing to one that has ended
    programs = {}
    for driver in drivers:
        objects = [str(directory / f"{source.stem}.o") for source in (driver, *kernels)]
        programs[driver] = directory / driver.stem
        subprocess.run([*compiler, "-pthread", *objects, "-o", str(programs[driver])], check=True)
    return programs


@pytest.mark.verify
@pytest.mark.timeout(3 * LIMIT + 60)
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_every_kernel_and_op_is_clean(tmp_path: Path, sanitizer: str) -> None:
    """The ops run with one and several threads, concurrently, and with refused inputs."""
    programs = build(tmp_path, sanitizer)
    results = all_kernels.results(printed(programs[all_kernels.DRIVER]))
    supported = native.supported_arch()
    names = [name for name, arch in native.kernels().items() if not arch & ~supported]
    assert list(results) == names
    all_kernels.assert_agreement(results)
    assert int(printed(programs[OPS_DRIVER])) == 662  # calls
