"""Progress of a job from its events: lines for a file, a live display for a terminal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ipulse.cli.terminal import clean
from ipulse.client import JobEvent
from ipulse.client.jobs.snapshot import JobSnapshot
from ipulse_core.states import TERMINAL, JobState, Phase

from .figures import accuracy_of, completed, metric_line, metric_rows, with_evaluation

PHASES = ("queue", *(phase.value for phase in Phase))
LINE_SECONDS = 2.0  # between two lines of metrics or of build steps
BAR_WIDTH = 30  # characters: the display fits into 80 columns

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

    def __init__(self, job: JobSnapshot, now: Callable[[], datetime] = _utc_now) -> None:
        self.job = job
        self._now = now
        self._since = job.created_at  # when the current state began
        self.state = job.state.value
        self.metric: dict[str, Any] | None = None  # the job's progress
        self.part: dict[str, Any] = {}  # the last progress event of the phase
        self._part_time = job.created_at
        self.waiting = ""  # what the job waits for while it is queued
        self.reason_to_wait = ""  # the same without the expected start
        self.remarks: list[str] = []  # reasons of states; warnings and errors of the attempt
        self._last_lines: dict[str, datetime] = {}  # by kind of event
        self._activity: tuple[str, str] | None = None  # phase and message of the last line

    def take(self, event: JobEvent) -> str | None:
        """Apply an event; return the line that describes it, or None if there is none."""
        time = event.time.astimezone().strftime("%H:%M:%S")
        text = self._apply(event)
        return None if text is None else f"{time}  {clean(text)}"

    def is_due(self, event: JobEvent) -> bool:
        """Return whether to print an event's line: the frequent kinds are thinned out.

        The last metrics, the end of a phase's progress, and the begin of each of its activities,
        such as a wait for another process, are always printed.
        """
        kind = event.kind
        if kind == "metric":
            kind = f"metric of {completed(event.fields)['scope']}"  # each has lines of its own
            is_always = event.fields["step"] >= event.fields["steps"]
        elif kind == "progress":
            activity = (event.fields["phase"], event.fields["message"])
            is_always = event.fields["fraction"] >= 1.0 or activity != self._activity
            self._activity = activity
        else:
            return True
        last = self._last_lines.get(kind)
        if not is_always and last and (event.time - last).total_seconds() < LINE_SECONDS:
            return False
        self._last_lines[kind] = event.time
        return True

    def _apply(self, event: JobEvent) -> str | None:
        fields = event.fields
        if event.kind == "state":
            self.state, self.part, self._since = str(fields["state"]), {}, event.time
            self.waiting = self.reason_to_wait = ""
            self._last_lines.pop("progress", None)
            self._activity = None
            if self.state in _END_STATES:
                return None  # `outcome` says it once
            return self._add_remark(_state_line(fields))
        if event.kind == "progress":
            self.part, self._part_time = fields, event.time
            return part_line(fields)
        if event.kind == "metric":
            self.metric, self.part = with_evaluation(fields, self.metric), {}
            words = [metric_line(fields), _eta(fields)]
            return "  ".join(word for word in words if word)
        # Output of the job is shown by `ipulse logs`; warnings of IPUlse itself are shown here.
        # State lines repeat the lines that the service logs.
        is_printed = fields.get("stream") in ("stdout", "stderr", "service")
        if event.kind == "log" and fields["level"] in ("warning", "error") and not is_printed:
            return self._add_remark(f"{fields['level']}: {fields['message']}")
        return None

    def _add_remark(self, text: str) -> str:
        if " " in text:  # more than the name of a state
            self.remarks = [*self.remarks[-4:], text]
        return text

    def display(self) -> RenderableType:
        """Return the live display: the state and its duration, a bar, figures and remarks."""
        style = _STYLES.get(self.state, "cyan")
        head = Text.assemble((clean(self.job.name), "bold"), "  ", self.job.id, "  ")
        head.append(self.state, style=style)
        if self.state not in _END_STATES:  # it grows while a long step runs
            head.append(f"  {duration(max(0.0, (self._now() - self._since).total_seconds()))}")
        parts: list[RenderableType] = [head]
        if self.waiting:
            parts.append(Text(clean(f"waits for {self.waiting}"), style="dim"))
        if self.part:
            parts.append(_bar_row(self.part["fraction"], 1.0, self._part_text()))
            parts.append(Text(clean(self.part["message"]), style="dim"))
        if self.metric:
            parts.append(self._training_bar(self.metric))
            rows = Table.grid(padding=(0, 2))
            for split, shown, scope in metric_rows(self.metric):
                rows.add_row(Text(split, style="dim"), Text(shown), Text(scope, style="dim"))
            parts.append(rows)
        parts += [Text(clean(remark), style="dim") for remark in self.remarks]
        return Group(*parts)

    def _part_text(self) -> str:
        """Return the text of a phase's bar; the expected time decreases between events."""
        part = self.part
        remaining = part.get("remaining_seconds")
        if remaining is not None:
            elapsed = (self._now() - self._part_time).total_seconds()
            remaining = max(0.0, remaining - max(0.0, elapsed))
        return ", ".join([f"{part['phase']} {part['fraction']:.0%}", *_counts(part, remaining)])

    def _training_bar(self, metric: dict[str, Any]) -> RenderableType:
        words = [f"epoch {metric['epoch']:,}/{metric['epochs']:,}", _eta(metric)]
        return _bar_row(metric["step"], metric["steps"], ", ".join(w for w in words if w))


def _bar_row(done: float, total: float, text: str) -> RenderableType:
    row = Table.grid(padding=(0, 1))
    bar = ProgressBar(total, done, width=BAR_WIDTH, complete_style="cyan", finished_style="cyan")
    row.add_row(bar, Text(clean(text)))
    return row


def _state_line(fields: dict[str, Any]) -> str:
    words = [str(fields["state"])]
    if fields.get("reason"):
        words.append(f"({fields['reason']})")
    if fields.get("by"):
        words.append(f"by {fields['by']}")
    if fields.get("message"):
        words.append(str(fields["message"]))
    return " ".join(words)


def part_line(part: dict[str, Any]) -> str:
    """Return a line about a progress event: how much of the phase is done, and what it does."""
    words = [part["message"], *_counts(part, part.get("remaining_seconds"))]
    return f"{part['phase']} {part['fraction']:.0%}: {', '.join(words)}"


def _counts(part: dict[str, Any], remaining: float | None) -> list[str]:
    """Return the counted steps of a progress event and the expected time, where known."""
    done, total = part.get("steps_done"), part.get("steps_total")
    if total is None or done == total:
        return []
    left = time_left(remaining)
    return [f"{done:,} of {total:,} done", *([left] if left else [])]


def _eta(metric: dict[str, Any]) -> str | None:
    if metric["step"] >= metric["steps"]:
        return None
    return time_left(metric.get("eta_seconds")) or None


def duration(seconds: float) -> str:
    """Format seconds for people: 9.9 s, 1 min 40 s, 2 h 01 min, 2 d 03 h; the page does so, too."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest:02} s"
    hours = minutes // 60
    return (
        f"{hours} h {minutes % 60:02} min" if hours < 48 else f"{hours // 24} d {hours % 24:02} h"
    )


def time_left(seconds: float | None) -> str:
    """Return the time that something is expected to take, or that it takes longer than expected."""
    if seconds is None:
        return ""
    return f"{duration(seconds)} left" if seconds >= 0.05 else "longer than expected"


def phase_seconds(job: JobSnapshot) -> dict[str, float]:
    """Return the seconds of each phase that a job has completed, in the order of the phases."""
    return {name: job.phase_seconds[name] for name in PHASES if name in job.phase_seconds}


def run_seconds(job: JobSnapshot) -> float:
    """Return the seconds for which agents have had a job that has ended: its phases."""
    return sum(job.phase_seconds.get(phase.value, 0.0) for phase in Phase)


def outcome(job: JobSnapshot) -> str:
    """Return a sentence about the state of a job and its reason."""
    if job.state is JobState.SUCCEEDED:
        accuracy = accuracy_of(job)
        return f"succeeded: {accuracy}" if accuracy else "succeeded"
    return _state_line(job.json)


def style_of(job: JobSnapshot) -> str:
    """Return the colour of a job's state."""
    return _STYLES.get(job.state.value, "cyan")
