"""The kernels under the compiler's sanitizers: memory, undefined behaviour, data races."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import List

import pytest

from ops.lif.cpu import native
from tests.ops.lif.cpu import all_kernels

LIMIT = 240  # seconds to compile, and to run, which take a tenth of that: a deadlock ends


def command_with(directory: Path, sanitizer: str) -> List[str]:
    """The compiler's command with a sanitizer; skips the test where its runtime is missing."""
    flag = f"-fsanitize={sanitizer}"
    probe = directory / "probe.cc"
    probe.write_text("int main() { return 0; }\n")
    program = str(directory / "probe")
    compiler = native.compiler()
    tried = subprocess.run([*compiler, flag, str(probe), "-o", program], check=False)
    if tried.returncode or subprocess.run([program], check=False).returncode:
        pytest.skip(f"{' '.join(compiler)} has no runtime for {flag} that works here")
    return [*compiler, flag]


def build(directory: Path, sanitizer: str) -> List[str]:
    """Compiles the kernels and their driver with a sanitizer; the command to run them."""
    compiler = command_with(directory, sanitizer)
    jobs = []
    for source in (*all_kernels.sources(), all_kernels.DRIVER):
        arch = next((a for end, a in native.ARCH_FLAGS.items() if source.stem.endswith(end)), ())
        flags = [*native.COMMON_FLAGS, "-std=c++17", "-O0", "-g1", "-fno-sanitize-recover=all"]
        out = directory / f"{source.stem}.o"
        command = [*compiler, *flags, *arch, f"-I{native.SOURCES}", "-c", str(source)]
        jobs.append((out, subprocess.Popen([*command, "-o", str(out)])))
    try:
        assert all(job.wait(LIMIT) == 0 for _, job in jobs)
    finally:
        for _, job in jobs:
            job.kill()  # nothing to one that has ended
    program = str(directory / "all_kernels")
    objects = [str(out) for out, _ in jobs]
    subprocess.run([*compiler, "-pthread", *objects, "-o", program], check=True)
    return [program]


@pytest.mark.same_on_every_python
@pytest.mark.slow
@pytest.mark.timeout(2 * LIMIT + 60)
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_every_kernel_is_clean(tmp_path: Path, sanitizer: str) -> None:
    command = build(tmp_path, sanitizer)
    done = subprocess.run(command, capture_output=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, done.stderr.decode()[:4000]
    results = all_kernels.results(done.stdout.decode())
    supported = native.supported_arch()
    names = [name for name, arch in native.kernels().items() if not arch & ~supported]
    assert list(results) == names
    all_kernels.assert_agreement(results)
