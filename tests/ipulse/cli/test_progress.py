"""Progress as lines and as a display, and text that must not control a terminal."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import pytest
from rich.console import Console

from ipulse.cli.display.figures import metric_line, metric_rows, numbered, with_evaluation
from ipulse.cli.display.progress import JobProgress, duration
from ipulse.client import JobEvent
from ipulse.times import time_of
from ipulse_core.build_cache.progress import BuildProgress
from tests.ipulse.client import samples

METRIC: dict[str, Any] = {
    "epoch": 3,
    "epochs": 30,
    "step": 69,
    "steps": 700,
    "values": {
        "loss": 0.51234,
        "accuracy": 0.875,
        "firing_rate/2": 0.04,
        "firing_rate/1": 0.03,
        "firing_rate/10": 0.05,
        "overflow/1": 1500.0,
    },
    "eta_seconds": 83.4,
    "scope": "step",
    "held_out": "test",
}
EPOCH: dict[str, Any] = {
    **METRIC,
    "step": 70,
    "values": {"loss": 0.41, "accuracy": 0.891, "test_loss": 0.31, "test_accuracy": 0.942},
    "scope": "epoch",
}


def progress() -> JobProgress:
    return JobProgress(samples.snapshot(name="digits", state="queued"))


def event(kind: str, **fields: Any) -> JobEvent:
    return JobEvent.from_json(samples.event(1, kind, **fields))


def build_event(waiting: bool) -> JobEvent:
    """Return the progress event of a build, as a runner makes it."""
    build = BuildProgress("liblif.so", 3, 20, 12.0, 52.0, process=4711, waiting=waiting)
    return event(
        "progress",
        phase="compile",
        fraction=build.fraction,
        message=build.activity,
        steps_done=build.done,
        steps_total=build.total,
        remaining_seconds=build.remaining,
        waiting=build.waiting,
    )


def drawn(shown: JobProgress, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(shown.display())
    return str(console.file.getvalue())  # type: ignore[attr-defined]  # the StringIO above


def test_a_line_of_metrics_names_the_split_and_scope_of_its_figures() -> None:
    assert metric_line(METRIC) == (
        "epoch 3/30  training batch 69/700: accuracy 87.5 %  loss 0.5123  "
        "firing rate 3.0 4.0 5.0 %  1,500 dropped spikes"
    )
    assert metric_line(EPOCH) == (
        "epoch 3/30  test accuracy 94.2 %  loss 0.3100  training accuracy 89.1 %  loss 0.4100"
    )
    assert "validation accuracy 94.2 %" in metric_line({**EPOCH, "held_out": "validation"})
    values = {**EPOCH["values"], "validation_loss": 0.4, "validation_accuracy": 0.921}
    line = metric_line({**EPOCH, "values": values})
    assert "test accuracy 94.2 %" in line
    assert "validation accuracy 92.1 %  loss 0.4000" in line


def test_an_epoch_of_a_script_has_no_words_without_figures() -> None:
    epoch = {**EPOCH, "values": {"loss": 0.41}}
    assert "test" not in metric_line(epoch)
    assert [row[0] for row in metric_rows(with_evaluation(epoch, None))] == ["training"]


def test_the_scope_of_an_event_of_version_0_1_is_known_by_its_metrics() -> None:
    for metric in (METRIC, EPOCH):
        former = {name: metric[name] for name in ("epoch", "epochs", "step", "steps", "values")}
        assert metric_line(former) == metric_line(metric)


def test_test_figures_stay_until_the_next_epoch_has_ended() -> None:
    shown = progress()
    shown.take(event("metric", **EPOCH))
    for step in range(71, 140):
        values = {"loss": 0.2, "accuracy": step / 1000}
        batch = {**METRIC, "epoch": 4, "step": step, "values": values}
        shown.take(event("metric", **batch))
        picture = drawn(shown)
        for figure in ("94.2 %", "after epoch 3", "89.1 %", "mean of epoch 3", f"batch {step}"):
            assert figure in picture
    later = {**EPOCH, "epoch": 4, "step": 140, "values": {**EPOCH["values"], "test_accuracy": 0.95}}
    shown.take(event("metric", **later))
    assert "95.0 %" in drawn(shown)
    assert "94.2 %" not in drawn(shown)


def test_a_training_that_resumes_before_an_evaluation_forgets_it() -> None:
    shown = progress()
    shown.take(event("metric", **EPOCH))
    shown.take(event("metric", **{**METRIC, "epoch": 2, "step": 30}))
    assert "94.2 %" not in drawn(shown)
    assert [scope for _, _, scope in metric_rows(shown.metric or {})] == ["batch 30", "batch 30"]


def test_layers_are_in_order() -> None:
    assert numbered(METRIC["values"], "firing_rate") == [0.03, 0.04, 0.05]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (99.4, "99 s"), (100, "1 min 40 s"),
     (5999, "99 min 59 s"), (7260, "2 h 01 min"), (183_600, "2 d 03 h")],
)  # fmt: skip
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_progress_of_a_phase_is_shown_until_the_phase_ends() -> None:
    shown = progress()
    shown.take(event("state", state="compiling", reason=None, message=""))
    line = shown.take(
        event("progress", phase="compile", fraction=0.4, message="building the \x1b[1memulator")
    )
    assert line is not None
    assert line.endswith("compile 40%: building the \\x1b[1memulator"), line
    assert "compile 40%" in drawn(shown)
    shown.take(event("state", state="running", reason=None, message=""))
    assert "compile 40%" not in drawn(shown)


def test_states_metrics_and_warnings_are_printed_and_output_is_not() -> None:
    shown = progress()
    lines: list[Any] = [
        shown.take(event("state", state="preparing", reason=None, message="")),
        shown.take(event("phase", phase="prepare")),
        shown.take(event("metric", **METRIC)),
        shown.take(event("log", message="chatter", level="info", stream="stdout")),
        shown.take(event("log", message="slow disk", level="warning", stream="runner")),
        shown.take(event("log", message="Traceback", level="warning", stream="stderr")),
        shown.take(event("checkpoint", path="c", epoch=1, step=1)),
        shown.take(event("state", state="retry_wait", reason="worker_lost", message="at step 7")),
        shown.take(event("state", state="failed", reason="diverged", message="at step 9")),
    ]
    printed = [line.partition("  ")[2] for line in lines if line is not None]
    assert printed == [
        "preparing",
        f"{metric_line(METRIC)}  83 s left",
        "warning: slow disk",
        "retry_wait (worker_lost) at step 7",
    ]  # the outcome is printed once, after the events


def test_a_file_gets_metrics_every_two_seconds_and_the_last_ones() -> None:
    shown = progress()
    kept = []
    for step in range(1, 101):
        time = f"2026-01-02T03:04:{step // 10:02}.{step % 10}00Z"
        metric = event("metric", **{**METRIC, "step": step, "steps": 100})
        if shown.is_due(dataclasses.replace(metric, time=time_of(time))):
            kept.append(step)
    assert kept == [1, 21, 41, 61, 81, 100]
    assert shown.is_due(event("log", message="m", level="error", stream="runner"))


def test_a_file_gets_the_figures_of_each_scope() -> None:
    shown = progress()
    due = []
    for step in range(1, 100):  # an epoch has ten steps and takes a second
        scope = "epoch" if step % 10 == 0 else "step"
        metric = event("metric", **{**METRIC, "step": step, "scope": scope})
        time = time_of(f"2026-01-02T03:04:{step // 10:02}.{step % 10}00Z")
        if shown.is_due(dataclasses.replace(metric, time=time)):
            due.append((scope, step))
    assert [step for scope, step in due if scope == "epoch"] == [10, 30, 50, 70, 90]
    assert [step for scope, step in due if scope == "step"] == [1, 21, 41, 61, 81]


def test_a_file_gets_build_steps_every_two_seconds_and_the_last_one() -> None:
    shown = progress()
    printed = []
    for step in range(21):
        progress_event = event(
            "progress",
            phase="compile",
            fraction=step / 20,
            message="building",
            steps_done=step,
            steps_total=20,
        )
        time = time_of(f"2026-01-02T03:04:{step // 2:02}.{step % 2 * 5}00Z")
        if shown.is_due(dataclasses.replace(progress_event, time=time)):
            printed.append(step)
    assert printed == [0, 4, 8, 12, 16, 20]
    shown.take(event("state", state="acquiring", reason=None, message=""))
    assert shown.is_due(event("progress", phase="acquire", fraction=0.0, message="waiting"))


def test_a_file_gets_the_begin_and_the_end_of_a_wait() -> None:
    shown = progress()
    waits = (False, True, True, False, False)
    assert [shown.is_due(build_event(waiting=waiting)) for waiting in waits] == [
        *(True, True, False),
        *(True, False),
    ]
