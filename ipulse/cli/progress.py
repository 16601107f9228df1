"""How a job stands, told from its events: lines for a file, a live picture for a terminal."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Dict, Iterator, List, Optional

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ipulse.client import Job, JobEvent
from ipulse_core.states import JobState, Phase

from .terminal import clean

PHASES = ("queue", *(phase.value for phase in Phase))
LINE_SECONDS = 2.0  # between two lines of figures: a log is read from end to end

_STYLES = {
    "succeeded": "green",
    "failed": "red",
    "cancelled": "yellow",
    "cancelling": "yellow",
    "paused": "yellow",
    "pausing": "yellow",
}


class Progress:
    """What is known of a job so far."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.state = job.state.value
        self.metric: Dict[str, Any] = {}
        self.part: Dict[str, Any] = {}  # of a phase, if it has parts that take a while
        self.remarks: List[str] = []  # why it is in its state; warnings and errors of the attempt
        self._last_figures: Optional[datetime] = None

    def take(self, event: JobEvent) -> Optional[str]:
        """Takes an event in; returns the line that tells it, or None where it tells nothing."""
        time = event.time.astimezone().strftime("%H:%M:%S")
        text = self._told(event)
        return None if text is None else f"{time}  {clean(text)}"

    def is_due(self, event: JobEvent) -> bool:
        """Whether its line is worth a place: of the figures only some, the last ones included."""
        if event.kind != "metric":
            return True
        if self._last_figures is not None and event.fields["step"] < event.fields["steps"]:
            since = event.time - self._last_figures
            if since.total_seconds() < LINE_SECONDS:
                return False
        self._last_figures = event.time
        return True

    def _told(self, event: JobEvent) -> Optional[str]:
        fields = event.fields
        if event.kind == "state":
            self.state, self.part = str(fields["state"]), {}
            return self._remarked(_state_line(fields))
        if event.kind == "progress":
            self.part = fields
            return part_line(fields)
        if event.kind == "metric":
            self.metric = fields
            return metric_line(fields)
        # What a program prints is for `ipulse logs`; what IPUlse itself warns of belongs here.
        is_printed = fields.get("stream") in ("stdout", "stderr")
        if event.kind == "log" and fields["level"] in ("warning", "error") and not is_printed:
            return self._remarked(f"{fields['level']}: {fields['message']}")
        return None

    def _remarked(self, text: str) -> str:
        if " " in text:  # more than the bare name of a state
            self.remarks = [*self.remarks[-4:], text]
        return text

    def picture(self) -> RenderableType:
        """The live picture: a bar, the figures, the last remarks."""
        style = _STYLES.get(self.state, "cyan")
        head = Text.assemble((clean(self.job.name), "bold"), "  ", self.job.id, "  ")
        head.append(self.state, style=style)
        parts: List[RenderableType] = [head]
        if self.part:
            bar = ProgressBar(total=1.0, completed=self.part["fraction"], width=40)
            row = Table.grid(padding=(0, 1))
            row.add_row(bar, Text(clean(part_line(self.part))))
            parts.append(row)
        if self.metric:
            parts.append(self._bar())
            parts.append(Text("  ".join(figures(self.metric))))
        parts += [Text(clean(remark), style="dim") for remark in self.remarks]
        return Group(*parts)

    def _bar(self) -> RenderableType:
        metric = self.metric
        row = Table.grid(padding=(0, 1))
        row.add_row(
            ProgressBar(total=metric["steps"], completed=metric["step"], width=40),
            Text(f"epoch {metric['epoch']}/{metric['epochs']}"),
            Text(_eta(metric) or ""),
        )
        return row


def _state_line(fields: Dict[str, Any]) -> str:
    words = [str(fields["state"])]
    if fields.get("reason"):
        words.append(f"({fields['reason']})")
    if fields.get("message"):
        words.append(str(fields["message"]))
    return " ".join(words)


def part_line(part: Dict[str, Any]) -> str:
    """What of a phase begins, and how much of its parts is done."""
    return f"{part['phase']} {part['fraction']:.0%}: {part['message']}"


def metric_line(metric: Dict[str, Any]) -> str:
    """One line of figures."""
    words = [f"epoch {metric['epoch']}/{metric['epochs']}", *figures(metric), _eta(metric)]
    return "  ".join(word for word in words if word)


def figures(metric: Dict[str, Any]) -> Iterator[str]:
    """The figures worth a line: loss, accuracies, the firing rate of each layer, lost spikes."""
    values: Dict[str, float] = metric["values"]
    for name in ("loss", "test_loss"):
        if name in values:
            yield f"{name.replace('_', ' ')} {values[name]:.4f}"
    for name in ("accuracy", "test_accuracy"):
        if name in values:
            yield f"{name.replace('_', ' ')} {values[name]:.1%}"
    rates = numbered(values, "firing_rate")
    if rates:
        yield "firing rate " + " ".join(f"{rate:.3f}" for rate in rates)
    lost = sum(numbered(values, "overflow"))
    if lost:
        yield f"{lost:,.0f} spikes without a slot"


def numbered(values: Dict[str, float], name: str) -> List[float]:
    """The values of name/1, name/2, ... in the order of the layers."""
    found = {}
    for key, value in values.items():
        head, _, number = key.partition("/")
        if head == name and number.isdecimal():
            found[int(number)] = value
    return [found[number] for number in sorted(found)]


def _eta(metric: Dict[str, Any]) -> Optional[str]:
    seconds = metric.get("eta_seconds")
    return None if seconds is None else f"{duration(seconds)} left"


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def phase_seconds(job: Job) -> Dict[str, float]:
    """Seconds of each phase that a job has left, in the order in which it goes through them."""
    return {name: job.phase_seconds[name] for name in PHASES if name in job.phase_seconds}


def outcome(job: Job) -> str:
    """How a job ended, in a sentence."""
    if job.state is JobState.SUCCEEDED:
        accuracy = (job.summary or {}).get("test_accuracy")
        return "succeeded" if accuracy is None else f"succeeded: test accuracy {accuracy:.2%}"
    return _state_line(job.json)


def style_of(job: Job) -> str:
    return _STYLES.get(job.state.value, "cyan")
