"""Arithmetic as on TensorFlow's threads, which read and write subnormal numbers as zeros."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
from contextlib import contextmanager
from typing import Iterator

import pytest

needs_flushing = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"),
    reason="the flag to flush is known for x86-64 and 64-bit ARM",
)


@contextmanager
def flushing_to_zero() -> Iterator[None]:
    """This thread reads and writes subnormal numbers as zeros, as TensorFlow's threads do."""
    place, bits = {"x86_64": (7, 0x8040), "aarch64": (0, 1 << 24)}[platform.machine()]
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    before, changed = (ctypes.c_uint32 * 64)(), (ctypes.c_uint32 * 64)()
    assert library.fegetenv(before) == 0
    ctypes.memmove(changed, before, ctypes.sizeof(before))
    changed[place] |= bits
    assert library.fesetenv(changed) == 0
    try:
        yield
    finally:
        library.fesetenv(before)
