"""A network of one's own, with loopback alone: for a service that listens elsewhere, too."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import sys

_MARK = "IPULSE_BENCHMARK_ISOLATED"
_SIOCSIFFLAGS, _UP_AND_RUNNING = 0x8914, 0x1 | 0x40


def is_isolated() -> bool:
    return _MARK in os.environ


def isolate(module: str) -> None:
    """Starts this program again in a network namespace of its own; does nothing where that is not
    permitted. `module` is what `python -m` runs."""
    if is_isolated():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            request = struct.pack("16sh22x", b"lo", _UP_AND_RUNNING)
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, request)
        return
    unshare = shutil.which("unshare")
    if os.geteuid() == 0 and unshare:
        command = [unshare, "--net", sys.executable, "-m", module, *sys.argv[1:]]
        os.execve(unshare, command, {**os.environ, _MARK: "1"})  # noqa: S606 - no shell is wanted
