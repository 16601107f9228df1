"""The filter of system calls of a sandboxed process."""

from __future__ import annotations

import errno
import os
import platform
import socket
import struct
from contextlib import contextmanager
from typing import Iterator, List, Sequence, Tuple

from ipulse_core.sandbox.call_numbers import FIRST_UNKNOWN, MACHINES
from ipulse_core.sandbox.unavailable import SandboxUnavailable

# Constants from linux/filter.h and linux/seccomp.h.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # places in the data of a call
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_REFUSE, _LACK = _ERROR | errno.EPERM, _ERROR | errno.ENOSYS
_X32 = 0x40000000  # from here on, the same calls have other numbers
_NAMESPACES = 0x7E020000  # flags of clone that make one

LOCAL = (int(socket.AF_UNIX),)
WITH_NETWORK = (*LOCAL, int(socket.AF_INET), int(socket.AF_INET6), 16)  # AF_NETLINK
_Line = Tuple[int, int, int, int]  # operation, lines to skip if true and if false, value


def filter_program(families: Sequence[int] = LOCAL) -> bytes:
    """Return the filter in the kernel's form.

    families: those of the sockets that may be made.

    Raises SandboxUnavailable for other processors.
    """
    machine = MACHINES.get(platform.machine())
    if machine is None:
        known = " and ".join(MACHINES)
        raise SandboxUnavailable(f"programs run on {known} only; this is {platform.machine()}")
    lines: List[_Line] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, _NUMBER),
        (_IF_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _REFUSE),
        (_IF_AT_LEAST, 1, 0, FIRST_UNKNOWN),
        # clone3 has its flags in memory, which a filter cannot read: libraries then use clone.
        (_IF_EQUAL, 0, 1, machine.clone3),
        (_RETURN, 0, 0, _LACK),
        (_IF_EQUAL, 0, 4, machine.clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_IF_ANY_BIT, 0, 1, _NAMESPACES),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
        (_IF_EQUAL, 0, len(families) + 3, machine.socket),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        *((_IF_EQUAL, len(families) - index, 0, each) for index, each in enumerate(families)),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    rest = len(machine.refused)
    lines += [(_IF_EQUAL, rest - index, 0, call) for index, call in enumerate(machine.refused)]
    lines += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


@contextmanager
def pipe_of(data: bytes) -> Iterator[int]:
    """Yield a descriptor from which the data is read, once; at most 64 KiB."""
    source, sink = os.pipe()
    try:
        with os.fdopen(sink, "wb") as file:
            file.write(data)
        yield source
    finally:
        os.close(source)
