"""Restart the program in a network namespace that has loopback alone."""

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
    """Return whether this program runs in a namespace of its own."""
    return _MARK in os.environ


def isolate() -> None:
    """Start `benchmarks.service` again in a network namespace, where that is permitted."""
    if is_isolated():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            request = struct.pack("16sh22x", b"lo", _UP_AND_RUNNING)
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, request)
        return
    unshare = shutil.which("unshare")
    if os.geteuid() == 0 and unshare:
        program = [sys.executable, "-m", "benchmarks.service", *sys.argv[1:]]
        os.execve(unshare, [unshare, "--net", *program], {**os.environ, _MARK: "1"})  # noqa: S606
