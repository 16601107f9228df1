"""The sparse ops under the compiler's sanitizers.

TensorFlow's process cannot be built for one, so that the ops run on stand_in/, as much of
TensorFlow as they use: tensors in memory of exactly their size, and threads of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ops.sparse import native
from tests.ops.lif.cpu.test_sanitizers import command_with

HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.skipif(
        sys.version_info < (3, 11), reason="runs under the other Python: no Python here"
    ),
    pytest.mark.timeout(120),
]


def printed(directory: Path, sanitizer: str, driver: str) -> int:
    """The number that a driver prints in the end, which stands for how much it has tried."""
    program = str(directory / "driver")
    # -O0: what takes time is to compile.
    flags = [*native.FLAGS, "-O0", "-std=c++17", "-pthread", "-fno-sanitize-recover=all"]
    includes = [f"-I{native.SOURCES.parent}", f"-I{HERE / 'stand_in'}"]
    command = [*command_with(directory, sanitizer), *flags, *includes, str(HERE / driver)]
    subprocess.run([*command, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()[:4000]
    return int(done.stdout)


def test_selection_and_surrogates_are_clean(tmp_path: Path) -> None:
    assert printed(tmp_path, "address,undefined", "selection_driver.cc") == 1200


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_ops_are_clean_and_give_the_same_bits_on_four_threads(
    tmp_path: Path, sanitizer: str
) -> None:
    assert printed(tmp_path, sanitizer, "ops_driver.cc") == 900
