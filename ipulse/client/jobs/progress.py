"""Progress of a job that a program waits for, on standard error."""

from __future__ import annotations

import sys
from types import TracebackType

from ipulse.client.jobs.resources import JobEvent
from ipulse_core.numbers import plain_number


class ProgressLines:
    """One line that changes on a terminal; elsewhere one line per phase and epoch."""

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
        """Show an event that ends a phase or an epoch; others are ignored."""
        text = _line(event)
        if text is None:
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
    if event.kind == "state":
        return str(fields["state"])
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
    return f"epoch {fields['epoch']}/{fields['epochs']}  {'  '.join(values)}"
