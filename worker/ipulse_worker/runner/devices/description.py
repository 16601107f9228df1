"""Facts about a device and its programs, and the functions that are told of its work."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Protocol, Tuple

from ipulse_core.build_cache.progress import BuildProgress
from ipulse_core.events import Level, Role


class Log(Protocol):
    """A function that logs one line."""

    def __call__(self, message: str, level: Level = "info") -> None:
        """Log a line."""


class OnProgress(Protocol):
    """A function that receives the completed fraction of the phase and what is done now."""

    def __call__(
        self,
        fraction: float,
        message: str,
        build: Optional[BuildProgress] = None,
        steps: Optional[Tuple[int, int]] = None,
    ) -> None:
        """Report progress; `steps` are those done and those in all."""


def ignore_progress(
    fraction: float,
    message: str,
    build: Optional[BuildProgress] = None,
    steps: Optional[Tuple[int, int]] = None,
) -> None:
    """An OnProgress that does nothing."""


class DeviceDescription(NamedTuple):
    """Properties of the device, for the manifest and the profile."""

    threads: int  # of the kernels
    target: Dict[str, Any]  # with libpva's names
    kernel: Dict[str, str]  # properties of the ops
    compiler: str  # of the ops


class Executable(NamedTuple):
    """A compiled program."""

    key: str  # in its cache; empty if it must not be cached
    is_from_cache: bool


class DeviceFile(NamedTuple):
    """A file that a device adds to the artifacts."""

    name: str
    role: Role
    media_type: str
    content: bytes
