"""Progress of a job that a program waits for, on standard error."""

from __future__ import annotations

import sys
from types import TracebackType

from ipulse.client.jobs.resources import JobEvent
from ipulse_core.numbers import plain_number
from ipulse_core.states import STATE_OF_PHASE

_OF_PHASES = {state.value for state in STATE_OF_PHASE.values()}


class ProgressLines:
    """One line that changes on a terminal; elsewhere a line for each phase once, and each epoch."""

    def __init__(self) -> None:
        self._file = sys.stderr
        self._changes = self._file.isatty()
        self._width = 0

    def __enter__(self) -> ProgressLines:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._width:
            print(file=self._file)

    def show(self, event: JobEvent) -> None:
        """Show a phase with its progress in percent, an epoch, or another state than a phase's."""
        text = _line(event)
        if text is None or (event.kind == "progress" and not self._changes):
            return
        if not self._changes:
            print(text, file=self._file, flush=True)
            return
        print(f"\r{text.ljust(self._width)}", end="", file=self._file, flush=True)
        self._width = len(text)


def _line(event: JobEvent) -> str | None:
    fields = event.fields
    if event.kind == "phase":
        return str(fields["phase"])
    if event.kind == "progress":
        return f"{fields['phase']} {fields['fraction']:.0%}  {fields['message']}"
    if event.kind == "state":  # each phase has a state, too
        state = str(fields["state"])
        return None if state in _OF_PHASES else state
    if event.kind != "metric" or fields.get("scope") != "epoch":
        return None
    shown = (
        "loss",
        "accuracy",
        "validation_loss",
        "validation_accuracy",
        "test_loss",
        "test_accuracy",
        "mae",
        "validation_mae",
        "test_mae",
    )
    given = fields["values"]
    values = [f"{name} {plain_number(given[name])}" for name in shown if name in given]
    done = fields["epoch"] / fields["epochs"]
    return f"run {done:.0%}  epoch {fields['epoch']}/{fields['epochs']}  {'  '.join(values)}"
