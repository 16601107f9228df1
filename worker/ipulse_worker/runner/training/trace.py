"""The attempt's timeline as Chrome trace events, for Perfetto or chrome://tracing.

One row nests phases, epochs, steps and their parts; a second row shows the LIF kernels. The kernels
report how long they ran, not when. Forward is drawn at the start and backward at the end of the
gradient call that contains both, so only the position of the gap between them (TensorFlow's loss
and dispatch) is approximate.
"""

from __future__ import annotations

import gzip
import os
from typing import Any, Dict, List

from ipulse_core import strict_json
from ipulse_worker.runner.clock import Span, Timeline
from ipulse_worker.runner.training.step_times import StepTime

TRACED_STEPS = 2000  # the first ones, drawn in detail; later ones only as a part of their epoch
RUNNER_ROW = 1
KERNEL_ROW = 2
ROWS = {RUNNER_ROW: "runner", KERNEL_ROW: "LIF kernels"}


def trace_step(timeline: Timeline, number: int, step: StepTime, loss: float) -> None:
    """Add a step and its parts to the timeline, if it is one of the first TRACED_STEPS."""
    if number > TRACED_STEPS:
        return
    spans = timeline.spans
    spans.append(Span("part", "data", step.start, step.batch_ready))
    spans.append(Span("part", "gradients", step.batch_ready, step.gradients_ready))
    spans.append(Span("part", "optimizer", step.gradients_ready, step.weights_updated))
    spans.append(Span("part", "metrics", step.weights_updated, step.end))
    spans.append(Span("kernel", "forward", step.batch_ready, step.batch_ready + step.forward))
    spans.append(
        Span("kernel", "backward", step.gradients_ready - step.backward, step.gradients_ready)
    )
    spans.append(Span("step", f"step {number}", step.start, step.end, {"loss": loss}))


def chrome_trace(timeline: Timeline, name: str) -> bytes:
    """Return the content of trace.json.gz; timestamps are microseconds since the start."""
    process = os.getpid()
    events: List[Dict[str, Any]] = [
        _label("process_name", process, RUNNER_ROW, f"IPUlse runner: {name}")
    ]
    for row, label in ROWS.items():
        events.append(_label("thread_name", process, row, label))
    # Viewers expect a parent before its children where both start at the same time.
    for span in sorted(timeline.spans, key=lambda span: (span.start, -span.end)):
        events.append(_slice(span, process))
        if span.category == "step":
            counter = {"ph": "C", "pid": process, "tid": RUNNER_ROW, "name": "loss"}
            events.append({**counter, "ts": span.end * 1e6, "args": dict(span.figures)})
    document = {"traceEvents": events, "displayTimeUnit": "ms", "otherData": _about(timeline)}
    # A fixed time in the gzip header, so that equal events give equal bytes.
    return gzip.compress(strict_json.dumps(document).encode("utf-8"), mtime=0)


def _slice(span: Span, process: int) -> Dict[str, Any]:
    return {
        "ph": "X",
        "name": span.name,
        "cat": span.category,
        "ts": span.start * 1e6,
        "dur": span.seconds * 1e6,
        "pid": process,
        "tid": KERNEL_ROW if span.category == "kernel" else RUNNER_ROW,
        "args": dict(span.figures),
    }


def _label(kind: str, process: int, row: int, text: str) -> Dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": row, "args": {"name": text}}


def _about(timeline: Timeline) -> Dict[str, str]:
    return {
        "steps in detail": f"{len(timeline.of('step'))}, and at most the first {TRACED_STEPS}",
        "kernels": "the kernels measure their durations; forward is drawn at the start and "
        "backward at the end of the gradient call",
    }
