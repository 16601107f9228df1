"""The devices of this machine that a sandboxed process may use, for one attempt."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, NamedTuple

SHARED_MEMORY = "/dev/shm"  # noqa: S108 (a place in the sandbox)
SHARED_BYTES = 2**28


class DeviceAccess(NamedTuple):
    """Device files and other files by their places in the sandbox, and variables."""

    nodes: Mapping[str, Path] = {}  # device files and folders with them, also to write to
    files: Mapping[str, Path] = {}  # files and folders, read-only
    variables: Mapping[str, str] = {}
    has_network: bool = False  # that of the machine


NO_DEVICES = DeviceAccess()
