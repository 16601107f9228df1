"""Data sets in files: uploaded by users, or in the data directory of a worker's owner.

A spec names one by a plain name, never by a path. docs/reference/data.md describes the files.
"""

from collections.abc import Iterator
from math import prod
from typing import Annotated, Literal

from ipulse.models import ByKind, ExactInteger, Field, StrictModel
from ipulse.spec.fields import Seed, StepMs, Steps, ValidationFraction
from ipulse_core.errors import Problem
from ipulse_core.limits import MAX_CHANNELS
from ipulse_core.spec.derived_values import input_channels
from ipulse_core.spec.kind_fields import field_of

from .encoding import Encoding
from .file_fields import (
    INPUT,
    Capacity,
    DataName,
    DatasetReference,
    InputKind,
    OptionalName,
    OwnChannels,
    OwnClasses,
    OwnOutputs,
    OwnSteps,
    OwnTestFraction,
    Shape,
    SplitSeed,
)
from .generated import validation_problems


class NpzData(StrictModel):
    """Your own spikes or values, in an npz file; docs/reference/data.md describes its arrays."""

    dataset: DatasetReference = None
    name: OptionalName = Field(
        default="",
        description="Instead of `dataset`: name, without .npz, of a file in the data directory of "
        "the workers.",
    )
    channels: OwnChannels = 0
    classes: OwnClasses = 0
    outputs: OwnOutputs = 0
    steps: OwnSteps = 0
    kind: Literal["npz"] = Field(default="npz", description="Data set.")
    shape: Shape = None
    step_ms: StepMs = 1.0
    encoding: Annotated[Encoding, ByKind()] | None = Field(
        default=None, description="How values become spikes; null if the file contains spikes."
    )
    input: InputKind = INPUT
    capacity: Capacity = None
    test_fraction: OwnTestFraction = 0.2
    validation: ValidationFraction = 0.0
    split_seed: SplitSeed = 0

    def problems(self) -> Iterator[Problem]:
        """Yields a problem if the data are not named, or the encoding makes too many channels."""
        yield from _naming_problems(self)
        if self.encoding is not None and self.input == "counts":
            detail = "an encoding makes spikes of values: remove encoding, or choose spikes"
            yield Problem("/input", "inconsistent", detail)
        channels = input_channels(self)
        if channels > MAX_CHANNELS:
            detail = f"with this encoding {channels:,} inputs; at most {MAX_CHANNELS:,} are allowed"
            yield Problem("/channels", "too_large", detail)


class EventsData(StrictModel):
    """Your own events, uploaded as HDF5 with one list per sample, or as CSV with one row each."""

    dataset: DatasetReference = None
    channels: OwnChannels = 0
    classes: OwnClasses = 0
    steps: OwnSteps = 0
    kind: Literal["events"] = Field(default="events", description="Data set.")
    shape: Shape = None
    step_ms: StepMs = 1.0
    input: InputKind = INPUT
    capacity: Capacity = None
    test_fraction: OwnTestFraction = 0.2
    validation: ValidationFraction = 0.0
    split_seed: SplitSeed = 0

    def problems(self) -> Iterator[Problem]:
        """Yields a problem if the data are not named."""
        if self.dataset is None:
            yield Problem(
                "/dataset", "inconsistent", "must name an uploaded data set: ipulse data push"
            )
        yield from _size_problems(self)


def _naming_problems(data: NpzData) -> Iterator[Problem]:
    if data.dataset is None and not data.name:
        detail = "must name an uploaded data set (ipulse data push), or give name"
        yield Problem("/dataset", "inconsistent", detail)
    elif data.dataset is not None and data.name:
        yield Problem("/name", "inconsistent", "give either dataset or name")
    elif data.dataset is None:
        for field in ("channels", "classes", "steps"):
            if not getattr(data, field) and not (field == "classes" and data.outputs):
                detail = "is required for a file that name names"
                detail += ", or outputs for a regression" if field == "classes" else ""
                yield Problem(f"/{field}", "inconsistent", detail)
    yield from _size_problems(data)


def _size_problems(data: NpzData | EventsData) -> Iterator[Problem]:
    channels = input_channels(data)
    if data.shape is not None and channels and prod(data.shape) != channels:
        detail = f"has {prod(data.shape):,} channels, and the data have {channels:,}"
        yield Problem("/shape", "inconsistent", detail)
    if data.classes and field_of(data, "outputs"):
        yield Problem("/outputs", "inconsistent", "give either classes or outputs")


class Recording(StrictModel):
    """Fields of a published data set, read from the files in which it is published."""

    kind: str = ""
    dataset: DatasetReference = None
    name: str = ""
    steps: Steps = Field(
        default=100,
        description="Time steps of one sample; later spikes are dropped and counted.",
    )
    step_ms: StepMs = 10.0
    input: InputKind = INPUT
    capacity: Capacity = None
    samples: int | None = Field(
        default=None,
        ge=1,
        le=10_000_000,
        description="Use at most this many training samples, and as many test samples, drawn with "
        "subset_seed; null uses all.",
    )
    subset_seed: Seed = Field(
        default=0,
        description="Selects the samples that are used or held out, and the spikes that are "
        "dropped.",
    )
    validation: ValidationFraction = 0.0


class SHDData(Recording):
    """Spiking Heidelberg Digits: NAME/shd_train.h5 and NAME/shd_test.h5."""

    kind: Literal["shd"] = Field(default="shd", description="Data set.")
    name: DataName = Field(default="shd", description="Name of the folder.")


class SSCData(Recording):
    """Spiking Speech Commands: NAME/ssc_train.h5, NAME/ssc_valid.h5 and NAME/ssc_test.h5."""

    kind: Literal["ssc"] = Field(default="ssc", description="Data set.")
    name: DataName = Field(default="ssc", description="Name of the folder.")
    judged_on: Literal["test", "validation"] = Field(
        default="test",
        description="The held-out file: the test set, or the validation set, to choose settings "
        "with.",
    )

    def problems(self) -> Iterator[Problem]:
        """Yields a problem if there would be two validation parts."""
        yield from validation_problems(self)


class NMNISTData(Recording):
    """N-MNIST, digits before a moving event camera: NAME/Train/0 to 9 and NAME/Test/0 to 9."""

    kind: Literal["n_mnist"] = Field(default="n_mnist", description="Data set.")
    name: DataName = Field(default="n_mnist", description="Name of the folder.")
    step_ms: StepMs = 3.0


class DVSGestureData(Recording):
    """DVS128 Gesture, eleven gestures before an event camera: recordings or cut samples in NAME."""

    kind: Literal["dvs_gesture"] = Field(default="dvs_gesture", description="Data set.")
    name: DataName = Field(default="dvs_gesture", description="Name of the folder.")
    step_ms: StepMs = 20.0
    pixels_merged: Annotated[Literal[1, 2, 4, 8, 16], ExactInteger] = Field(
        default=4, description="Side of the squares of pixels that are merged into one channel."
    )
