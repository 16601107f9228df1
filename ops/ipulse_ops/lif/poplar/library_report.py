"""Texts of the compiled Poplar op, such as the names of its outputs."""

from __future__ import annotations

import ctypes

MOST_BYTES = 65536


def library_report(function: str, attributes: str, *numbers: int) -> str:
    """Return the text that a function of the library makes of attributes and numbers.

    Raises ValueError with the library's message.
    """
    # The Keras layers import this module where the emulator is not installed.
    from ipulse_ops.lif.poplar.build import build

    library = ctypes.CDLL(str(build().library))
    text = ctypes.create_string_buffer(MOST_BYTES)
    size = ctypes.c_size_t(len(text))
    if getattr(library, function)(attributes.encode(), *numbers, text, size):
        raise ValueError(text.value.decode())
    return text.value.decode()
