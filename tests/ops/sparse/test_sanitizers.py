"""The sparse ops under the compiler's sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ipulse_ops.sparse import native
from tests.ops.sanitized import FLAGS, LIMIT, SANITIZERS, STAND_IN, compiler_with, printed

HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.verify,
    pytest.mark.timeout(2 * LIMIT),
]


def tried(directory: Path, sanitizer: str, driver: str) -> int:
    """The number that a driver prints in the end, which stands for how much it has tried."""
    program = directory / "driver"
    flags = [*native.FLAGS, *FLAGS, "-std=c++17", "-pthread"]
    includes = [f"-I{native.SOURCES.parents[1]}", f"-I{STAND_IN}"]
    command = [*compiler_with(directory, sanitizer), *flags, *includes, str(HERE / driver)]
    subprocess.run([*command, "-o", str(program)], check=True, timeout=LIMIT)
    return int(printed(program))


def test_selection_and_surrogates_are_clean(tmp_path: Path) -> None:
    assert tried(tmp_path, "address,undefined", "selection_driver.cc") == 1200


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_ops_are_clean_and_give_the_same_bits_on_four_threads(
    tmp_path: Path, sanitizer: str
) -> None:
    assert tried(tmp_path, sanitizer, "ops_driver.cc") == 1458
