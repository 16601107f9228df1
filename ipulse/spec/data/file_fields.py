"""Fields of data sets in files."""

from typing import Annotated, Any, Literal

from ipulse.models import Field, ListOf
from ipulse.spec.fields import Seed, TestFraction
from ipulse_core.data_sets import NAME_PATTERN
from ipulse_core.limits import MAX_CHANNELS, MAX_STEPS, MOST_COUNTED

_NAME = NAME_PATTERN[1:-1]
OPTIONAL_NAME = rf"^({_NAME})?$"
DATASET_REFERENCE = rf"^({_NAME}(@[1-9][0-9]{{0,8}})?|sha256:[0-9a-f]{{64}})$"
DataName = Annotated[str, Field(max_length=128, pattern=NAME_PATTERN)]
OptionalName = Annotated[str, Field(max_length=128, pattern=OPTIONAL_NAME)]
DatasetReference = Annotated[
    str | None,
    Field(
        max_length=160,
        pattern=DATASET_REFERENCE,
        description="An uploaded data set: NAME for its latest version, NAME@VERSION, or "
        "`sha256:` and the digest of the content, by which the service replaces the other two.",
        examples=["mine@3"],
    ),
]
OwnChannels = Annotated[
    int,
    Field(
        ge=0,
        le=MAX_CHANNELS,
        description="Channels, or values, of a sample; 0: those of the uploaded data set.",
    ),
]
OwnClasses = Annotated[
    int,
    Field(
        ge=0,
        le=1000,
        description="Labels are 0 to classes - 1; 0: as many as the uploaded data set has.",
    ),
]
OwnOutputs = Annotated[
    int,
    Field(
        ge=0,
        le=1000,
        description="Instead of classes: target values of a sample or of each of its steps, for a "
        "loss of a regression. 0: as many as the targets of the uploaded data set, if the loss "
        "needs them.",
    ),
]
OwnSteps = Annotated[
    int,
    Field(
        ge=0,
        le=MAX_STEPS,
        description="Time steps of one sample; later spikes are dropped and counted. 0: as many as "
        "the uploaded data set has.",
    ),
]
OwnTestFraction = Annotated[
    TestFraction,
    Field(
        description="Fraction of the samples held out for the test accuracy, unless the file "
        "defines the test set.",
    ),
]
SplitSeed = Annotated[
    Seed,
    Field(description="Selects the samples that are held out and the spikes that are dropped."),
]
Capacity = Annotated[
    int | None,
    Field(
        ge=1,
        le=MAX_CHANNELS,
        description="Spikes per sample and step that the input can hold; a random choice of the "
        "rest is dropped and counted. Null: as many as the busiest step has.",
    ),
]
InputKind = Literal["spikes", "counts"]
INPUT: Any = Field(
    default="spikes",
    exclude_if=lambda value: bool(value == "spikes"),  # earlier agents know no other
    description="spikes: the events of a channel in one step are one spike. counts: each of them "
    f"is a spike of its own, up to {MOST_COUNTED:,} of a channel in one step.",
)
Shape = Annotated[
    ListOf[Annotated[int, Field(ge=1, le=MAX_CHANNELS)]] | None,
    Field(
        min_length=3,
        max_length=3,
        description="Planes, height and width, if the channels are an image: channel = "
        "(plane * height + y) * width + x. Convolutions need it.",
        examples=[[2, 34, 34]],
    ),
]
