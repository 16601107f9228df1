"""The interface of devices; `ipulse_worker.runner.devices` says who calls what, and when."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Tuple

from ipulse_core.build_cache.progress import BuildProgress, ProgressCallback
from ipulse_core.events import Level, Role
from ipulse_core.states import Phase
from ipulse_worker.runner.devices.connection import PHASES
from ipulse_worker.runner.model.model import Model

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


class Log(Protocol):
    def __call__(self, message: str, level: Level = "info") -> None: ...


# Receives the completed fraction of the compile phase and a message.
OnProgress = Callable[[float, str], None]


def ignore_progress(fraction: float, message: str) -> None:
    """An OnProgress that does nothing."""


class DeviceDescription(NamedTuple):
    """What figures depend on, for the manifest and the profile."""

    threads: int  # that the kernels use
    target: Dict[str, Any]  # as libpva names a compilation's target
    kernel: Dict[str, str]  # of the ops, as they describe themselves
    compiler: str  # that the ops were built by


class Executable(NamedTuple):
    """A compiled program."""

    key: str  # of the cache that has it; empty if none may keep it
    is_from_cache: bool


class DeviceFile(NamedTuple):
    """What a device leaves of a run, as an artifact."""

    name: str
    role: Role
    media_type: str
    content: bytes


class Device(ABC):
    """One attempt's device, for one spec."""

    kind: str  # as in the spec
    job_id = ""  # for whoever waits for the device behind this one
    directory = Path()  # the attempt's, for what the device's tools write

    def __init__(self, spec: ExperimentSpec, log: Log, check: Callable[[], None]) -> None:
        self.spec = spec
        self.log = log
        self.check = check
        self.on_progress: OnProgress = ignore_progress

    @property
    def connection(self) -> str:
        """As the spec says."""
        return self.spec.device.connection_type

    @property
    def phases(self) -> Tuple[Phase, ...]:
        """Of an attempt, in order."""
        return PHASES[self.connection]

    @property
    def is_compiled(self) -> bool:
        """Whether programs are compiled when the phase compile ends."""
        return True

    @abstractmethod
    def configure(self) -> None:
        """Sets up TensorFlow, before its first op."""

    @abstractmethod
    def compile(self, slots: int) -> Model:
        """Builds all that a run needs. slots: of the input spikes.

        Raises NativeError if something cannot be built.
        """

    @abstractmethod
    def acquire(self) -> None:
        """Waits for the device."""

    @abstractmethod
    def release(self) -> None:
        """Gives back what was acquired. Doing so twice is no error."""

    @abstractmethod
    def kernel_seconds(self) -> Dict[str, float]:
        """Cumulative seconds of the ops by their own clock: "forward" and "backward"."""

    @abstractmethod
    def description(self) -> DeviceDescription:
        """What it is; known once it has compiled."""

    def build_progress(self, begin: float, end: float) -> ProgressCallback:
        """Return a callback that reports a build as the part of the phase from begin to end.

        The log gets the first and the last line, and that another process builds.
        """
        waited = False

        def report(progress: BuildProgress) -> None:
            nonlocal waited
            if progress.waiting != waited or progress.done in (0, progress.total):
                self.log(str(progress))
            waited = progress.waiting
            self.on_progress(begin + (end - begin) * progress.fraction, str(progress))

        return report

    def executables(self) -> List[Executable]:
        """What was compiled; known when the model is traced."""
        return []

    def poplar_profile(self) -> Optional[Dict[str, Any]]:
        """Of the program that ran on tiles, as docs/reference/profile.md says; None if there was
        none."""
        return None

    def files(self) -> List[DeviceFile]:
        """Artifacts of its own, asked for when the run is over."""
        return []
