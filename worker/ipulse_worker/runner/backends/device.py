"""The interface of devices; the docstring of the package describes the order of calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from ipulse_core.build_cache.progress import BuildProgress, ProgressCallback
from ipulse_core.states import Phase
from ipulse_worker.runner.devices.connection import PHASES
from ipulse_worker.runner.devices.description import (
    DeviceDescription,
    DeviceFile,
    Executable,
    Log,
    OnProgress,
    ignore_progress,
)
from ipulse_worker.runner.event_writer import Throttle
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.user_code.ops.ops import CustomOps

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

BUILD_SECONDS = 0.25  # between two progress events of a build


class Device(ABC):
    """The device of one attempt."""

    kind: str  # device.kind of the spec
    job_id = ""  # shown to jobs that wait for the device
    directory = Path()  # of the attempt, for files of the device's tools
    ops: Optional[CustomOps] = None  # the custom ops of the network

    def __init__(self, spec: ExperimentSpec, log: Log, check: Callable[[], None]) -> None:
        self.spec = spec
        self.log = log
        self.check = check
        self.on_progress: OnProgress = ignore_progress

    @property
    def connection(self) -> str:
        """The connection type of the spec."""
        return self.spec.device.connection_type

    @property
    def phases(self) -> Tuple[Phase, ...]:
        """The phases of an attempt, in order."""
        return PHASES[self.connection]

    # The part of the phase compile that is done when `compile` returns; tracing follows.
    compiled_fraction = 0.9

    @property
    def is_compiled(self) -> bool:
        """Return whether programs are compiled when the compile phase ends."""
        return True

    @abstractmethod
    def configure(self) -> None:
        """Set up TensorFlow, before its first op."""

    @abstractmethod
    def compile(self, slots: int) -> Model:
        """Build everything that a run needs.

        Args:
            slots: last dimension of the input spikes, the most spikes per sample and step.

        Raises:
            NativeError: something cannot be built.
        """

    @abstractmethod
    def acquire(self) -> None:
        """Wait for the device."""

    @abstractmethod
    def release(self) -> None:
        """Release what was acquired; may be called twice."""

    @abstractmethod
    def kernel_seconds(self) -> Dict[str, float]:
        """Return the cumulative seconds of the ops, by "forward" and "backward"."""

    @abstractmethod
    def description(self) -> DeviceDescription:
        """Describe the device; only after `compile`."""

    def build_progress(self, begin: float, end: float) -> ProgressCallback:
        """Return a callback that reports a build as the part of the phase from begin to end.

        The log gets the first and the last line, and the start of a wait for another process.
        """
        waited = False
        throttle = Throttle(BUILD_SECONDS)

        def report(progress: BuildProgress) -> None:
            nonlocal waited
            is_logged = progress.waiting != waited or progress.done in (0, progress.total)
            if is_logged:
                self.log(str(progress))
            waited = progress.waiting
            if throttle.allows() or is_logged:
                fraction = begin + (end - begin) * progress.fraction
                self.on_progress(fraction, progress.activity, progress)

        return report

    def report_wait(self, message: str) -> None:
        """Log what the phase waits for, and report it as the phase's progress."""
        self.log(message)
        self.on_progress(0.0, message)

    def executables(self) -> List[Executable]:
        """Return the compiled programs; only after the model is traced."""
        return []

    def poplar_profile(self) -> Optional[Dict[str, Any]]:
        """Return the Poplar program's profile (docs/reference/tile_profile.md), or None."""
        return None

    def files(self) -> List[DeviceFile]:
        """Return additional artifacts; called after the run."""
        return []
