"""The system calls that a sandboxed process may not make.

Shared memory and messages that no process maps would count against none of its limits, and the keys
of the agent's session are not its own.
"""

from __future__ import annotations

import errno
import os
import platform
import struct
from contextlib import contextmanager
from typing import Iterator, NamedTuple, Tuple

from ipulse_core.sandbox.unavailable import SandboxUnavailable


class _Machine(NamedTuple):
    """The numbers of a processor's Linux, from its headers audit.h and unistd.h."""

    audit: int
    refused: Tuple[
        int, ...
    ]  # shmget, msgget, memfd_create, memfd_secret, (add|request)_key, keyctl


_MACHINES = {
    "x86_64": _Machine(0xC000003E, (29, 68, 319, 447, 248, 249, 250)),
    "aarch64": _Machine(0xC00000B7, (194, 186, 279, 447, 217, 218, 219)),
}
# Constants from linux/filter.h and linux/seccomp.h.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE = 0, 4  # places in the data of a call
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_X32 = 0x40000000  # from here on, the same calls have other numbers


def filter_program() -> bytes:
    """Return the filter in the kernel's form. Raises SandboxUnavailable for other processors."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        known = " and ".join(_MACHINES)
        raise SandboxUnavailable(f"programs run on {known} only; this is {platform.machine()}")
    rest = len(machine.refused)
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 0, rest + 3, machine.audit),
        (_LOAD, 0, 0, _NUMBER),
        (_IF_AT_LEAST, rest + 1, 0, _X32),
        *((_IF_EQUAL, rest - index, 0, call) for index, call in enumerate(machine.refused)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


@contextmanager
def filter_descriptor() -> Iterator[int]:
    """Yield a descriptor from which bubblewrap reads the filter, once."""
    program = filter_program()
    source, sink = os.pipe()
    try:
        with os.fdopen(sink, "wb") as file:
            file.write(program)
        yield source
    finally:
        os.close(source)
