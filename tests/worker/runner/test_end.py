"""A runner ends at once, and what it has printed is all there."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.old_python

PROGRAM = """
import atexit, ctypes, sys
from ipulse_worker.runner.__main__ import end

atexit.register(print, "taken apart")
print("Python", end=" ")
sys.stdout.flush()
ctypes.CDLL(None).printf(b"%s", b"and C")
end(3)
"""


def test_keeps_what_was_printed_and_the_exit_code() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, check=False)
    assert ended.stdout == b"Python and C"
    assert ended.returncode == 3
