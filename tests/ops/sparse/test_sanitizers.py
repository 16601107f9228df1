"""What the sparse ops do on plain arrays, under the compiler's sanitizers.

The ops themselves live in TensorFlow's process, which is not built for one. Their loops over rows
write to rows of their own; what reckons with indices within a row is in headers without TensorFlow.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ops.sparse import native
from tests.ops.lif.cpu.test_sanitizers import command_with

DRIVER = Path(__file__).with_name("selection_driver.cc")


@pytest.mark.same_on_every_python
@pytest.mark.timeout(120)
def test_selection_and_surrogates_are_clean(tmp_path: Path) -> None:
    compiler = command_with(tmp_path, "address,undefined")
    program = str(tmp_path / "selection")
    flags = [*native.FLAGS, "-O1", "-g", "-std=c++17", "-fno-sanitize-recover=all"]
    include = f"-I{native.SOURCES.parent}"
    subprocess.run([*compiler, *flags, include, str(DRIVER), "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()[:4000]
    assert int(done.stdout) == 1200
