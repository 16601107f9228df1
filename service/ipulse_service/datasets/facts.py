"""The report of the check of a data set. Its process read a file of anybody, so it is validated."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["npz", "events", "shd", "ssc", "n_mnist", "dvs_gesture"]
Form = Literal["spikes", "ids", "events", "values"]

_Count = Field(ge=0, le=2**53)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class EventsPerSample(_Strict):
    """How many events samples have."""

    mean: float
    min: int
    max: int


class LabelCount(_Strict):
    """How many samples have a label."""

    label: int
    samples: int
    test_samples: int | None = Field(description="Null if the file defines no test set.")


class DatasetFacts(_Strict):
    """The contents of a data set, found by reading all of it."""

    format: Literal["npz", "hdf5", "csv", "zip", "tar"]
    form: Form = Field(description="How the samples are stored.")
    samples: int = _Count
    test_samples: int | None = Field(
        description="Null if the file defines no test set: `data.test_fraction` does."
    )
    channels: int = Field(description="Channels, or values, of a sample.")
    classes: int = Field(description="Labels are 0 to classes - 1; 0 if there are only targets.")
    outputs: int | None = Field(
        default=None, description="Target values of a sample or step; null if there are none."
    )
    target_steps: int | None = Field(
        default=None, description="Steps with targets of their own; null: one target per sample."
    )
    steps: int | None = Field(description="Time steps, where the file itself has steps.")
    first_ms: float | None = Field(description="Time of the first event, where events have times.")
    last_ms: float | None = Field(description="Time of the last event, where events have times.")
    time_type: str | None = Field(
        default=None,
        max_length=20,
        description="Type of the times, such as `float32`; null if there are none, or not known.",
    )
    has_counts: bool | None = Field(
        default=None,
        description="Whether a channel has several events in a step, which only a job with "
        "`data.input: counts` reads; null unless `form` is spikes, or not known.",
    )
    events: int = Field(description="Events of all samples.")
    events_per_sample: EventsPerSample
    label_counts: list[LabelCount] = Field(max_length=1000, description="By label.")
    warnings: list[Annotated[str, Field(max_length=1000)]] = Field(
        default=[],
        max_length=10,
        description="What may be a mistake in the file, such as a label or channel without events.",
    )


class SamplePreview(_Strict):
    """One sample, small enough to look at."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "sample": 17,
                    "label": 1,
                    "is_test": False,
                    "form": "events",
                    "events": 3,
                    "shown": 3,
                    "time_unit": "ms",
                    "steps": 50,
                    "end_ms": 9.25,
                    "times": [0.5, 3.0, 9.25],
                    "event_channels": [12, 4, 27],
                    "values": [0.5],
                    "shape": [1],
                }
            ]
        }
    )

    sample: int = _Count
    label: int | None = Field(description="Null if the file has targets and no labels.")
    is_test: bool | None = Field(description="Null if the file defines no test set.")
    form: Form
    events: int = Field(description="Events of the sample.")
    shown: int = Field(description="Events in `times`, an even choice of them.")
    time_unit: Literal["ms", "step"]
    steps: int | None = Field(description="Time steps, where the file itself has steps.")
    end_ms: float | None = Field(description="Time of the sample's last event.")
    times: list[float] = Field(max_length=1000, description="One per event, ascending.")
    event_channels: list[int] = Field(max_length=1000, description="One per event.")
    values: list[float] | None = Field(
        max_length=4096, description="The values of a sample of the form `values`, thinned."
    )
    shape: list[int] | None = Field(description="Axes of `values`.")


class DatasetCheck(_Strict):
    """The answer of the process that checks: facts, a refusal, or trouble of the machine."""

    kind: Kind | None = None
    facts: DatasetFacts | None = None
    previews: list[SamplePreview] = Field(default=[], max_length=64)
    refusal: str | None = None
    trouble: str | None = None
