"""Messages between runner and agent: the assignment of an attempt, and its events.

The runner writes events as lines of JSON to a pipe, the agent forwards them, and the service
numbers and stores them. Paths are relative to the attempt's work directory.

The classes are plain so that a runner on Python 3.8 can use them. Agent and service validate them
with `ipulse.events`, from the limits in each field's metadata.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Dict, Literal, Mapping, Optional, Union

from ipulse_core.limits import MAX_INTEGER, MAX_TEXT, PRINTABLE

PROTOCOL = 1  # of the lines between agent and runner
MAX_LINE = 16_384  # characters of a log event

Level = Literal["debug", "info", "warning", "error"]
Stream = Literal["runner", "stdout", "stderr", "agent", "service"]
PhaseName = Literal["prepare", "compile", "acquire", "run", "report"]
Scope = Literal["step", "epoch"]  # what a metric describes: one batch, or a whole epoch
HeldOut = Literal["test", "validation"]  # the samples that are not trained on
# The purpose of an artifact, for programs; its name is for people.
Role = Literal[
    "metrics",
    "weights",
    "network",
    "profile",
    "poplar_profile",
    "spikes",
    "executable",
    "trace",
    "report",
    "manifest",
    "output",
    "log",
    "checkpoint",
]
FILE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"


def metric_scope(metric: Mapping[str, Any]) -> Scope:
    """Returns what a metric event of any release describes.

    0.1 stored no scope; only its epochs had metrics of the test samples.
    """
    known: Optional[Scope] = metric.get("scope")
    return known or ("epoch" if "test_loss" in metric["values"] else "step")


class WireObject:
    """Base of classes that are sent as JSON."""

    # Settings for pydantic, where it is installed.
    __pydantic_config__: ClassVar[Dict[str, Any]] = {
        "strict": True,
        "extra": "forbid",
        "allow_inf_nan": False,
    }

    def to_json(self) -> Dict[str, Any]:
        """Returns the fields by name."""
        return dict(vars(self))


def described(
    description: str,
    *,
    default: Any = dataclasses.MISSING,
    factory: Any = dataclasses.MISSING,
    **limits: Any,
) -> Any:
    """Returns a dataclass field; its metadata are arguments of pydantic's `Field`."""
    metadata = {"description": description, **limits}
    if factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def text(description: str, *, max_length: int = MAX_TEXT, **options: Any) -> Any:
    """Returns a field for text without control characters."""
    return described(description, max_length=max_length, pattern=PRINTABLE, **options)


def integer(description: str, *, ge: int, **options: Any) -> Any:
    """Returns a field for an integer."""
    return described(description, ge=ge, le=MAX_INTEGER, **options)


@dataclass(frozen=True)
class PhaseEvent(WireObject):
    """The attempt entered a phase."""

    phase: PhaseName = described("The phase entered.")
    previous_seconds: Optional[float] = described(
        "Duration of the attempt's phase before this one, on the worker's clock. That of `prepare` "
        "begins when the agent gets the job, and includes the start of the runner.",
        default=None,
        ge=0.0,
        le=1e9,
    )
    kind: Literal["phase"] = "phase"


@dataclass(frozen=True)
class ProgressEvent(WireObject):
    """The progress of a phase that takes a while."""

    phase: PhaseName = described("The phase.")
    fraction: float = described("Fraction of the phase that is done.", ge=0.0, le=1.0)
    message: str = text("What was done or begins.", max_length=1024)
    steps_done: Optional[int] = integer(
        "Completed steps, such as the compiled files of a build.", default=None, ge=0
    )
    steps_total: Optional[int] = integer("Steps in all.", default=None, ge=1)
    remaining_seconds: Optional[float] = described(
        "Expected time to the end of these steps.", default=None, ge=0.0
    )
    waiting: Optional[bool] = described(
        "Whether another process makes the build and this one waits for it.", default=None
    )
    kind: Literal["progress"] = "progress"


@dataclass(frozen=True)
class MetricEvent(WireObject):
    """Metrics of a training step, or of an epoch at its end.

    Names that begin with `test_` are about the samples of `held_out`, those that begin with
    `validation_` about the samples of data.validation; all other losses, accuracies and rates are
    about training samples.
    """

    epoch: int = integer("Epochs begun, from 1.", ge=0)
    epochs: int = integer("Epochs in all.", ge=1)
    step: int = integer("Training steps done since the first epoch.", ge=0)
    steps: int = integer("Training steps in all.", ge=1)
    values: Dict[str, float] = described(
        "Metrics by name: loss, accuracy, test_loss, test_accuracy, firing_rate/1 (spikes per "
        "neuron and step of the first layer), overflow/1 (dropped spikes), ...",
        max_length=256,
    )
    eta_seconds: Optional[float] = described(
        "Estimated time to the end of training.", default=None, ge=0.0
    )
    scope: Scope = described(
        "step: the values describe the batch of this step. epoch: the epoch has ended; training "
        "metrics are means over its batches, test metrics are measured after it.",
        default="step",
    )
    held_out: HeldOut = described(
        "Which samples the metrics test_... describe: the test set, or the published validation "
        "set where the spec has judged_on: validation.",
        default="test",
    )
    kind: Literal["metric"] = "metric"


@dataclass(frozen=True)
class LogEvent(WireObject):
    """A line that the runner printed or logged."""

    message: str = text("One line of text.", max_length=MAX_LINE)
    level: Level = described("Severity.", default="info")
    stream: Stream = described("Origin of the line.", default="runner")
    kind: Literal["log"] = "log"


@dataclass(frozen=True)
class CheckpointEvent(WireObject):
    """A checkpoint file is complete and may be stored."""

    path: str = described("File in the work directory.", pattern=FILE_NAME)
    epoch: int = integer("Epochs done.", ge=0)
    step: int = integer("Training steps done.", ge=0)
    kind: Literal["checkpoint"] = "checkpoint"


@dataclass(frozen=True)
class ArtifactEvent(WireObject):
    """A result file is complete and may be stored."""

    path: str = described("File in the work directory.", pattern=FILE_NAME)
    role: Role = described("Purpose of the file.")
    media_type: str = text("Media type.", default="application/octet-stream", max_length=128)
    kind: Literal["artifact"] = "artifact"


@dataclass(frozen=True)
class ReadyEvent(WireObject):
    """The runner has finished its imports and waits for an assignment."""

    python: str = text("Version of Python.")
    tensorflow: str = text("Version of TensorFlow.")
    import_seconds: float = described("Duration of the imports in seconds.", ge=0.0)
    kind: Literal["ready"] = "ready"


@dataclass(frozen=True)
class DoneEvent(WireObject):
    """The outcome of the attempt; the last line that a runner writes."""

    reason: str = text("A value of ipulse_core.states.Reason.", max_length=64)
    message: str = text("One sentence for people.", default="", max_length=4_096)
    summary: Dict[str, float] = described(
        "Final metrics: test_accuracy, seconds, ...", factory=dict, max_length=64
    )
    kind: Literal["done"] = "done"


Event = Union[
    PhaseEvent,
    ProgressEvent,
    MetricEvent,
    LogEvent,
    CheckpointEvent,
    ArtifactEvent,
    ReadyEvent,
    DoneEvent,
]


@dataclass(frozen=True)
class Assignment(WireObject):
    """One attempt for a runner: the one line that the agent writes to its standard input."""

    protocol: int
    job_id: str
    attempt: int  # number of the attempt, from 1
    work_dir: str  # directory of this attempt; the runner writes only here
    spec: Any  # the resolved experiment spec as JSON
    checkpoint: Optional[str] = None  # checkpoint file to resume from
    # SHA-256 of the spec without defaults, which is the same in every version that knows it.
    spec_key: Optional[str] = None
    start_seconds: float = 0.0  # since the agent got the job
    start_from: Optional[str] = None  # file of another job to start from
    # "continue": train on from its checkpoint; "weights": begin with its weights, by layer names.
    start_mode: Optional[str] = None
    ops: Optional[Dict[str, str]] = None  # files of the packages of custom ops by their digests
