"""The platforms that a training ran on.

On CPUs, results are equal to the bit on all platforms of one generation of kernels. Those of
emulated IPUs and of IPUs may differ from platform to platform.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

import numpy as np
import tensorflow as tf

from ipulse_core.version import version
from ipulse_ops.kernel_generation import KERNEL_GENERATION
from ipulse_ops.lif.cpu import native
from ipulse_worker.runner import provenance

OTHER_PLATFORM = (
    "not all steps were computed on this attempt's platform, so the results differ from those of "
    "an uninterrupted training"
)
LABELS = {
    "processor": "processor",
    "instruction_set": "instruction set",
    "ipulse": "IPUlse",
    "numpy": "NumPy",
    "tensorflow": "TensorFlow",
    "kernel_generation": "kernel generation",
}


@dataclass(frozen=True)
class TrainingPlatform:
    """The platform: the bits of a training may depend on it besides the spec."""

    processor: str  # its model
    instruction_set: str  # of the LIF kernels
    ipulse: str
    numpy: str
    tensorflow: str
    kernel_generation: Optional[int] = None  # None: of an older release, or not on a CPU

    @classmethod
    def here(cls, device: str) -> TrainingPlatform:
        """Return this process's platform; the kernels must be built.

        Args:
            device: kind of the device that trains, such as "cpu".
        """
        return cls(
            processor=str(provenance.host()["cpu"]),
            instruction_set=str(native.description()["kernel"]),
            ipulse=version(),
            numpy=np.__version__,
            tensorflow=tf.__version__,
            kernel_generation=KERNEL_GENERATION if device == "cpu" else None,
        )

    def differences(self, other: TrainingPlatform) -> List[str]:
        """Return phrases such as "TensorFlow 2.6.5 instead of 2.21.0".

        There are none between platforms of one generation of kernels: their results are equal.
        """
        if self.kernel_generation is not None and (
            self.kernel_generation == other.kernel_generation
        ):
            return []
        mine, theirs = asdict(self), asdict(other)
        return [
            f"{LABELS[name]} {_shown(mine[name])} instead of {_shown(theirs[name])}"
            for name in LABELS
            if mine[name] != theirs[name]
        ]


def _shown(value: Any) -> str:
    return "unknown" if value is None else str(value)


class PlatformHistory:
    """The platforms of a training's attempts, each with the first step that it computed."""

    def __init__(self, entries: Sequence[Mapping[str, Any]] = ()) -> None:
        """Read what `to_json` returned; raise KeyError or TypeError for anything else."""
        self._first_steps: List[int] = []
        self._platforms: List[TrainingPlatform] = []
        for entry in entries:
            names = {name: str(entry[name]) for name in LABELS if name != "kernel_generation"}
            self._first_steps.append(int(entry["first_step"]))
            generation = entry.get("kernel_generation")
            self._platforms.append(
                TrainingPlatform(
                    **names, kernel_generation=None if generation is None else int(generation)
                )
            )

    def enter(self, step: int, platform: TrainingPlatform) -> None:
        """Continue on a platform after `step` completed steps."""
        if self._platforms and self._platforms[-1] == platform:
            return
        if self._first_steps and self._first_steps[-1] == step + 1:  # it computed no step
            del self._first_steps[-1], self._platforms[-1]
            self.enter(step, platform)
            return
        self._first_steps.append(step + 1)
        self._platforms.append(platform)

    def others(self) -> List[str]:
        """Return a phrase for each span of steps on another platform than the last one."""
        phrases = []
        if self._first_steps[:1] > [1]:
            phrases.append(f"steps 1 to {self._first_steps[0] - 1:,} on an unknown platform")
        ends = [first - 1 for first in self._first_steps[1:]]
        for first, last, platform in zip(self._first_steps, ends, self._platforms):
            different = platform.differences(self._platforms[-1])
            if different:
                phrases.append(f"steps {first:,} to {last:,} with {', '.join(different)}")
        return phrases

    def to_json(self) -> List[Dict[str, Any]]:
        """Return the platforms in order."""
        return [
            {"first_step": first, **asdict(platform)}
            for first, platform in zip(self._first_steps, self._platforms)
        ]
