"""Data sets in files that the worker's owner keeps in the worker's data directory.

A spec names one by a plain name, never by a path. docs/reference/data.md says what lies where, and
how.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Literal, Optional

from ipulse_core.errors import Problem
from ipulse_core.schema import described

from .encoding import Encoding

MAX_CHANNELS = 65_536  # of any input: ids are kept in 16 bits
DATA_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"


@dataclass(frozen=True)
class NpzData:
    """Spikes or values of your own, in NAME.npz: docs/reference/data.md has its arrays."""

    words = "recorded spikes"

    name: str = described("The file without its .npz.", pattern=DATA_NAME, max_length=128)
    channels: int = described("Channels, or values, of a sample.", ge=1, le=MAX_CHANNELS)
    classes: int = described("Labels are 0 to classes - 1.", ge=2, le=1000)
    steps: int = described(
        "Time steps of one sample; later spikes are dropped and counted.", ge=1, le=10_000
    )
    kind: Literal["npz"] = described("Which data set.", default="npz")
    step_ms: float = described("Width of one time step.", default=1.0, gt=0.0, le=1000.0, unit="ms")
    encoding: Optional[Encoding] = described(
        "How values become spikes; null where the file has spikes.", default=None
    )
    capacity: Optional[int] = described(
        "Slots per sample and step; a random choice of what does not fit is dropped and counted. "
        "Null: as many as the busiest step has.",
        default=None,
        ge=1,
        le=MAX_CHANNELS,
    )
    test_fraction: float = described(
        "Share of the samples held out for the test accuracy, unless the file says which.",
        default=0.2,
        ge=0.05,
        le=0.5,
    )
    split_seed: int = described(
        "Decides which samples are held out and which spikes are dropped.",
        default=0,
        ge=0,
        le=2**31 - 1,
    )

    @property
    def inputs(self) -> int:
        return self.channels * (self.encoding.channels_per_value if self.encoding else 1)

    def problems(self) -> Iterator[Problem]:
        if self.inputs > MAX_CHANNELS:
            detail = f"with this encoding {self.inputs:,} inputs; at most {MAX_CHANNELS:,}"
            yield Problem("/channels", "too_large", detail)


@dataclass(frozen=True)
class Recording:
    """A published data set in the files in which it is published."""

    kind: str = ""
    name: str = ""
    steps: int = described(
        "Time steps of one sample; later spikes are dropped and counted.",
        default=100,
        ge=1,
        le=10_000,
    )
    step_ms: float = described(
        "Width of one time step.", default=10.0, gt=0.0, le=1000.0, unit="ms"
    )
    capacity: Optional[int] = described(
        "Slots per sample and step; a random choice of what does not fit is dropped and counted. "
        "Null: as many as the busiest step has.",
        default=None,
        ge=1,
        le=MAX_CHANNELS,
    )
    samples: Optional[int] = described(
        "Use at most so many samples to learn from, and as many to test, drawn by subset_seed; "
        "null uses all.",
        default=None,
        ge=1,
        le=10_000_000,
    )
    subset_seed: int = described(
        "Decides which samples are used and which spikes are dropped.",
        default=0,
        ge=0,
        le=2**31 - 1,
    )


@dataclass(frozen=True)
class SHDData(Recording):
    """Spiking Heidelberg Digits: NAME/shd_train.h5 and NAME/shd_test.h5."""

    words = "spoken digits through an artificial cochlea"
    inputs = 700
    classes = 20

    kind: Literal["shd"] = described("Which data set.", default="shd")
    name: str = described("The folder.", default="shd", pattern=DATA_NAME, max_length=128)


@dataclass(frozen=True)
class SSCData(Recording):
    """Spiking Speech Commands: NAME/ssc_train.h5, NAME/ssc_valid.h5 and NAME/ssc_test.h5."""

    words = "spoken commands through an artificial cochlea"
    inputs = 700
    classes = 35

    kind: Literal["ssc"] = described("Which data set.", default="ssc")
    name: str = described("The folder.", default="ssc", pattern=DATA_NAME, max_length=128)
    judged_on: Literal["test", "validation"] = described(
        "The held-out file: the test's, or the other one, to choose settings by.", default="test"
    )


@dataclass(frozen=True)
class NMNISTData(Recording):
    """N-MNIST, digits before a moving event camera: NAME/Train/0 to 9 and NAME/Test/0 to 9."""

    words = "digits before a moving event camera"
    inputs = 2 * 34 * 34  # channel = (polarity * 34 + y) * 34 + x
    classes = 10

    kind: Literal["n_mnist"] = described("Which data set.", default="n_mnist")
    name: str = described("The folder.", default="n_mnist", pattern=DATA_NAME, max_length=128)
    step_ms: float = described("Width of one time step.", default=3.0, gt=0.0, le=1000.0, unit="ms")


@dataclass(frozen=True)
class DVSGestureData(Recording):
    """DVS128 Gesture, eleven gestures before an event camera: recordings or cut samples in NAME."""

    words = "gestures before an event camera"
    classes = 11

    kind: Literal["dvs_gesture"] = described("Which data set.", default="dvs_gesture")
    name: str = described("The folder.", default="dvs_gesture", pattern=DATA_NAME, max_length=128)
    step_ms: float = described(
        "Width of one time step.", default=20.0, gt=0.0, le=1000.0, unit="ms"
    )
    pixels_merged: Literal[1, 2, 4, 8, 16] = described(
        "Side of the squares of pixels that become one channel.", default=4
    )

    @property
    def inputs(self) -> int:
        """Channel = (polarity * side + y) * side + x."""
        side = 128 // self.pixels_merged
        return 2 * side * side
