"""What an attempt may say about its job, one JSON object a line.

The runner writes these on a pipe, the agent forwards them, the service numbers and keeps them.
Paths are relative to the attempt's work directory and never leave the worker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Literal, Optional, Union, cast

from ipulse_core import parsing, schema
from ipulse_core.schema import described
from ipulse_core.states import Phase, Reason

PROTOCOL = 1  # of the lines between agent and runner
MAX_LINE = 16_384  # characters of a log event

Level = Literal["debug", "info", "warning", "error"]
Stream = Literal["runner", "stdout", "stderr", "agent", "service"]
PhaseName = Literal["prepare", "compile", "acquire", "run", "report"]
# What an artifact is for; a name is for people, a role is for programs.
Role = Literal[
    "metrics",
    "weights",
    "network",
    "profile",
    "poplar_profile",
    "executable",
    "trace",
    "report",
    "manifest",
    "log",
    "checkpoint",
]
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"


@dataclass(frozen=True)
class PhaseEvent:
    """The attempt entered a phase."""

    phase: PhaseName = described("The phase entered.")
    kind: Literal["phase"] = "phase"


@dataclass(frozen=True)
class ProgressEvent:
    """How far a phase is that takes a while."""

    phase: PhaseName = described("The phase.")
    fraction: float = described("How much of it is done.", ge=0.0, le=1.0)
    message: str = described("What is done, or begins.", max_length=1024)
    kind: Literal["progress"] = "progress"


@dataclass(frozen=True)
class MetricEvent:
    """Figures of the training after some step."""

    epoch: int = described("Epochs begun, from 1.", ge=0)
    epochs: int = described("Epochs in all.", ge=1)
    step: int = described("Training steps done since the first epoch.", ge=0)
    steps: int = described("Training steps in all.", ge=1)
    values: Dict[str, float] = described(
        "Figures by name: loss, accuracy, test_loss, test_accuracy, firing_rate/1 (spikes per "
        "neuron and step of the first layer), overflow/1 (slots dropped), ...",
        max_items=256,
    )
    eta_seconds: Optional[float] = described(
        "Estimated time to the end of training.", default=None, ge=0.0, unit="s"
    )
    kind: Literal["metric"] = "metric"


@dataclass(frozen=True)
class LogEvent:
    """Something to read: a line that the runner printed or logged."""

    message: str = described("One line of text.", max_length=MAX_LINE)
    level: Level = described("How bad.", default="info")
    stream: Stream = described("Who said it.", default="runner")
    kind: Literal["log"] = "log"


@dataclass(frozen=True)
class CheckpointEvent:
    """A checkpoint file is complete and may be stored."""

    path: str = described("File in the work directory.", pattern=NAME)
    epoch: int = described("Epochs done.", ge=0)
    step: int = described("Training steps done.", ge=0)
    kind: Literal["checkpoint"] = "checkpoint"


@dataclass(frozen=True)
class ArtifactEvent:
    """A result file is complete and may be stored."""

    path: str = described("File in the work directory.", pattern=NAME)
    role: Role = described("What the file is for.")
    media_type: str = described("Media type.", default="application/octet-stream", max_length=128)
    kind: Literal["artifact"] = "artifact"


@dataclass(frozen=True)
class ReadyEvent:
    """The runner has imported what it needs and waits for an assignment."""

    python: str = described("Version of Python.")
    tensorflow: str = described("Version of TensorFlow.")
    import_seconds: float = described("Time spent importing.", ge=0.0, unit="s")
    kind: Literal["ready"] = "ready"


@dataclass(frozen=True)
class DoneEvent:
    """The attempt's verdict; the last line a runner writes."""

    reason: str = described("A value of ipulse_core.states.Reason.", max_length=64)
    message: str = described("One sentence for people.", default="", max_length=4_096)
    summary: Dict[str, float] = described(
        "Final figures: test_accuracy, seconds, ...", factory=dict, max_items=64
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


def parse_event(value: Any) -> Event:
    """The event in parsed JSON. Raises InvalidInput with the places of its problems."""
    return cast(Event, parsing.parse_type(Event, value))


def event_to_json(event: Event) -> Dict[str, Any]:
    value: Dict[str, Any] = schema.to_json(event)
    return value


@dataclass(frozen=True)
class Assignment:
    """What the agent writes to a runner's standard input: one line, one attempt."""

    protocol: int
    job_id: str
    attempt: int = described("Number of the attempt, from 1.", ge=1)
    work_dir: str = described(
        "Directory of this attempt; the runner writes only here.", max_length=4096
    )
    spec: Any = described("The experiment spec as JSON.")
    checkpoint: Optional[str] = described(
        "Checkpoint file to resume from.", default=None, max_length=4096
    )


__all__ = [
    "MAX_LINE",
    "NAME",
    "PROTOCOL",
    "ArtifactEvent",
    "Assignment",
    "CheckpointEvent",
    "DoneEvent",
    "Event",
    "Level",
    "LogEvent",
    "MetricEvent",
    "Phase",
    "PhaseEvent",
    "ProgressEvent",
    "ReadyEvent",
    "Reason",
    "Role",
    "Stream",
    "event_to_json",
    "parse_event",
]
