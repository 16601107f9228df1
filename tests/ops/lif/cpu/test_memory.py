"""The memory of the kernels: what is given back serves the next, whatever its size."""

from __future__ import annotations

import ctypes
import random
import subprocess
import sys
from typing import Any, List, Tuple

import pytest

from ipulse_ops.lif.cpu import native

MIB = 1 << 20

# In a process of its own: what other tests gave back would serve the first takes.
PROGRAM = """
import ctypes
from ipulse_ops.lif.cpu import native
from tests.ops.lif.cpu.test_memory import MIB, functions, resident

take, give = functions()
begin = resident()
for size in range(1, 16):  # one after the other, each written
    block = take(size * MIB)
    ctypes.memset(block, 1, size * MIB)
    give(block, size * MIB)
used = resident() - begin
for size in (48, 40, 48):  # the second and the third reuse the pages of the first
    block = take(size * MIB)
    ctypes.memset(block, 1, size * MIB)
    give(block, size * MIB)
large = resident() - begin - used
for _ in range(600):
    give(take(MIB), MIB)
print(used // MIB, large // MIB, (resident() - begin) // MIB)
"""


def functions() -> Tuple[Any, Any]:
    """lif_memory_take and lif_memory_give."""
    lib = native.library()
    lib.lif_memory_take.restype = ctypes.c_void_p
    lib.lif_memory_take.argtypes = [ctypes.c_size_t]
    lib.lif_memory_give.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return lib.lif_memory_take, lib.lif_memory_give


def resident() -> int:
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_sizes_share_pages_and_idle_ones_go_back() -> None:
    native.build_kernels()
    done = subprocess.run([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, check=True)
    used, large, left = (int(word) for word in done.stdout.split())
    assert 14 <= used <= 20  # not the 120 of all sizes together
    assert 46 <= large <= 52
    assert left <= 6


def test_blocks_never_overlap() -> None:
    """Each block still holds what was written to its ends while others came and went."""
    take, give = functions()
    draw = random.Random(5)
    held: List[Tuple[int, int, int]] = []
    for number in range(400):
        if held and draw.random() < 0.5:
            block, size, mark = held.pop(draw.randrange(len(held)))
            ends = ctypes.string_at(block, 8), ctypes.string_at(block + size - 8, 8)
            assert ends == (bytes([mark] * 8),) * 2, f"seed 5, block {mark}, {size} bytes"
            give(block, size)
        else:
            size = draw.choice((100, 65537, 4 * MIB // 3, 15 * MIB, 17 * MIB, 40 * MIB))
            block, mark = take(size), number % 256
            assert block % 64 == 0
            for end in (block, block + size - 8):
                ctypes.memset(end, mark, 8)
            held.append((block, size, mark))
    for block, size, _ in held:
        give(block, size)
