"""Runs a command under Landlock, a filter of system calls and limits, without namespaces."""

import ctypes
import os
import resource
import struct
import subprocess
from pathlib import Path
from typing import List

from ipulse_core.sandbox.system_calls import filter_program
from tests.core.sandbox.place import LIMITS

# From the kernel's header landlock.h; the numbers are those of all processors.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1
_FILES_AND_FOLDERS = (1 << 16) - 1
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read files and folders
_NETWORK, _SCOPES = 3, 3
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_NOBODY = 65534
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/dev/null")
_FILE_ONLY = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Return the version of the kernel's Landlock, 0 without one."""
    return max(0, int(_libc.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)))


def run(work: Path, readable: List[Path], script: str) -> "subprocess.CompletedProcess[str]":
    """Run a script in a folder to which alone it may write; it sees some others and the system."""
    if os.geteuid() == 0:
        for path in (work, *readable):
            os.chown(str(path), _NOBODY, _NOBODY)
    return subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=str(work),
        env={"PATH": "/usr/bin:/bin", "HOME": str(work)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: _confine(work, readable),
    )


def _confine(work: Path, readable: List[Path]) -> None:
    disk = LIMITS["disk_bytes"]
    resource.setrlimit(resource.RLIMIT_FSIZE, (disk, disk))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    attributes = struct.pack("=QQQ", _FILES_AND_FOLDERS, _NETWORK, _SCOPES)
    ruleset = _call(_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    for path in (*map(Path, SYSTEM), *readable):
        if path.exists():
            _allow(ruleset, path, _READ if path.is_dir() else _READ & _FILE_ONLY)
    _allow(ruleset, work, _FILES_AND_FOLDERS)
    _prctl(_NO_NEW_PRIVILEGES, 1)
    _call(_RESTRICT, ruleset, 0)
    program = filter_program(())
    buffer = ctypes.create_string_buffer(program)
    pointer = ctypes.create_string_buffer(
        struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    )
    _prctl(_SECCOMP, _FILTER, pointer)


def _allow(ruleset: int, path: Path, access: int) -> None:
    descriptor = os.open(str(path), os.O_PATH | os.O_CLOEXEC)
    _call(_ADD, ruleset, 1, struct.pack("=Qi", access, descriptor), 0)
    os.close(descriptor)


def _call(number: int, *arguments: object) -> int:
    result = _libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"call {number}")
    return int(result)


def _prctl(option: int, value: int, pointer: object = 0) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), pointer, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option}")
