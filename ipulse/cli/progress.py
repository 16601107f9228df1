"""Progress of a job from its events: lines for a file, a live display for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ipulse.client import Job, JobEvent
from ipulse_core.states import TERMINAL, JobState, Phase

from .terminal import clean

PHASES = ("queue", *(phase.value for phase in Phase))
LINE_SECONDS = 2.0  # between two lines of metrics or of build steps

_END_STATES = frozenset(state.value for state in TERMINAL)
_STYLES = {
    "succeeded": "green",
    "failed": "red",
    "cancelled": "yellow",
    "cancelling": "yellow",
    "paused": "yellow",
    "pausing": "yellow",
}


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


class JobProgress:
    """The state of a job, updated by its events."""

    def __init__(self, job: Job, now: Callable[[], datetime] = _utc_now) -> None:
        self.job = job
        self._now = now
        self._since = job.created_at  # when the current state began
        self.state = job.state.value
        self.metric: dict[str, Any] = {}
        self.part: dict[str, Any] = {}  # the last progress event of the phase
        self._part_time = job.created_at
        self.remarks: list[str] = []  # reasons of states; warnings and errors of the attempt
        self._last_lines: dict[str, datetime] = {}  # by kind of event
        self._is_waiting = False  # for a build of another process, in the last printed line

    def take(self, event: JobEvent) -> str | None:
        """Apply an event; return the line that describes it, or None if there is none."""
        time = event.time.astimezone().strftime("%H:%M:%S")
        text = self._apply(event)
        return None if text is None else f"{time}  {clean(text)}"

    def is_due(self, event: JobEvent) -> bool:
        """Return whether to print an event's line: the frequent kinds are thinned out.

        The last metrics, the end of a phase's progress, and the begin and end of a wait for
        another process are always printed.
        """
        if event.kind == "metric":
            is_last = event.fields["step"] >= event.fields["steps"]
        elif event.kind == "progress":
            waiting = bool(event.fields.get("waiting"))
            is_last = event.fields["fraction"] >= 1.0 or waiting is not self._is_waiting
            self._is_waiting = waiting
        else:
            return True
        last = self._last_lines.get(event.kind)
        if not is_last and last and (event.time - last).total_seconds() < LINE_SECONDS:
            return False
        self._last_lines[event.kind] = event.time
        return True

    def _apply(self, event: JobEvent) -> str | None:
        fields = event.fields
        if event.kind == "state":
            self.state, self.part, self._since = str(fields["state"]), {}, event.time
            self._last_lines.pop("progress", None)
            return self._add_remark(_state_line(fields))
        if event.kind == "progress":
            self.part, self._part_time = fields, event.time
            return part_line(fields)
        if event.kind == "metric":
            self.metric = fields
            return metric_line(fields)
        # Output of the job is shown by `ipulse logs`; warnings of IPUlse itself are shown here.
        is_printed = fields.get("stream") in ("stdout", "stderr")
        if event.kind == "log" and fields["level"] in ("warning", "error") and not is_printed:
            return self._add_remark(f"{fields['level']}: {fields['message']}")
        return None

    def _add_remark(self, text: str) -> str:
        if " " in text:  # more than the name of a state
            self.remarks = [*self.remarks[-4:], text]
        return text

    def display(self) -> RenderableType:
        """Return the live display: the state and its duration, a bar, metrics and remarks."""
        style = _STYLES.get(self.state, "cyan")
        head = Text.assemble((clean(self.job.name), "bold"), "  ", self.job.id, "  ")
        head.append(self.state, style=style)
        if self.state not in _END_STATES:  # it grows while a long step runs
            head.append(f"  {duration(max(0.0, (self._now() - self._since).total_seconds()))}")
        parts: list[RenderableType] = [head]
        if self.part:
            bar = ProgressBar(total=1.0, completed=self.part["fraction"], width=40)
            row = Table.grid(padding=(0, 1))
            row.add_row(bar, Text(clean(self._part_text())))
            parts.append(row)
            if self.part.get("waiting"):
                parts.append(Text("waiting for the build of another process", style="dim"))
        if self.metric:
            parts.append(self._bar())
            parts.append(Text("  ".join(figures(self.metric))))
        parts += [Text(clean(remark), style="dim") for remark in self.remarks]
        return Group(*parts)

    def _part_text(self) -> str:
        """Return the text of a phase's bar; the expected time decreases between events."""
        part = self.part
        done, total, remaining = (
            part.get(name) for name in ("steps_done", "steps_total", "remaining_seconds")
        )
        if total is None or done == total:
            return part_line(part)
        words = [f"{part['phase']} {part['fraction']:.0%}", f"step {done} of {total}"]
        if remaining is not None:
            elapsed = (self._now() - self._part_time).total_seconds()
            words.append(f"{duration(max(0.0, remaining - max(0.0, elapsed)))} left")
        return ", ".join(words)

    def _bar(self) -> RenderableType:
        metric = self.metric
        row = Table.grid(padding=(0, 1))
        row.add_row(
            ProgressBar(total=metric["steps"], completed=metric["step"], width=40),
            Text(f"epoch {metric['epoch']}/{metric['epochs']}"),
            Text(_eta(metric) or ""),
        )
        return row


def _state_line(fields: dict[str, Any]) -> str:
    words = [str(fields["state"])]
    if fields.get("reason"):
        words.append(f"({fields['reason']})")
    if fields.get("message"):
        words.append(str(fields["message"]))
    return " ".join(words)


def part_line(part: dict[str, Any]) -> str:
    """Return a line about a progress event: how much of the phase is done, and what it does."""
    return f"{part['phase']} {part['fraction']:.0%}: {part['message']}"


def metric_line(metric: dict[str, Any]) -> str:
    """Return one line of metrics."""
    words = [f"epoch {metric['epoch']}/{metric['epochs']}", *figures(metric), _eta(metric)]
    return "  ".join(word for word in words if word)


def figures(metric: dict[str, Any]) -> Iterator[str]:
    """Yield the main metrics: losses, accuracies, firing rates of the layers, dropped spikes."""
    values: dict[str, float] = metric["values"]
    for name in ("loss", "test_loss"):
        if name in values:
            yield f"{name.replace('_', ' ')} {values[name]:.4f}"
    for name in ("accuracy", "test_accuracy"):
        if name in values:
            yield f"{name.replace('_', ' ')} {values[name]:.1%}"
    rates = numbered(values, "firing_rate")
    if rates:
        yield "firing rate " + " ".join(f"{rate:.3f}" for rate in rates)
    dropped = sum(numbered(values, "overflow"))
    if dropped:
        yield f"{dropped:,.0f} dropped spikes"


def numbered(values: dict[str, float], name: str) -> list[float]:
    """Return the values of name/1, name/2, ... in the order of the layers."""
    by_layer = {}
    for key, value in values.items():
        head, _, number = key.partition("/")
        if head == name and number.isdecimal():
            by_layer[int(number)] = value
    return [by_layer[number] for number in sorted(by_layer)]


def _eta(metric: dict[str, Any]) -> str | None:
    seconds = metric.get("eta_seconds")
    return None if seconds is None else f"{duration(seconds)} left"


def duration(seconds: float) -> str:
    """Format seconds for people: 9.9 s, 1 min 40 s, 2 h 01 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def phase_seconds(job: Job) -> dict[str, float]:
    """Return the seconds of each phase that a job has completed, in the order of the phases."""
    return {name: job.phase_seconds[name] for name in PHASES if name in job.phase_seconds}


def outcome(job: Job) -> str:
    """Return a sentence about the state of a job and its reason."""
    if job.state is JobState.SUCCEEDED:
        accuracy = (job.summary or {}).get("test_accuracy")
        return "succeeded" if accuracy is None else f"succeeded: test accuracy {accuracy:.2%}"
    return _state_line(job.json)


def style_of(job: Job) -> str:
    """Return the colour of a job's state."""
    return _STYLES.get(job.state.value, "cyan")
