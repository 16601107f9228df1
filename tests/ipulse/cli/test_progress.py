"""Progress as lines and as a picture, and text from elsewhere that may not command a terminal."""

from __future__ import annotations

import dataclasses
import io
from typing import Any, Dict, List

import pytest
from rich.console import Console

from ipulse.cli.progress import Progress, duration, metric_line, numbered
from ipulse.cli.terminal import clean
from ipulse.client import Job, JobEvent
from ipulse.client.resources import time_of
from tests.ipulse.client import samples

METRIC: Dict[str, Any] = {
    "epoch": 3,
    "epochs": 30,
    "step": 70,
    "steps": 700,
    "values": {
        "loss": 0.51234,
        "accuracy": 0.875,
        "test_accuracy": 0.9,
        "firing_rate/2": 0.04,
        "firing_rate/1": 0.03,
        "firing_rate/10": 0.05,
        "overflow/1": 1500.0,
    },
    "eta_seconds": 83.4,
}


def progress() -> Progress:
    return Progress(Job.from_json(samples.job(name="digits", state="queued")))


def event(kind: str, **fields: Any) -> JobEvent:
    return JobEvent.from_json(samples.event(1, kind, **fields))


def drawn(shown: Progress) -> str:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    console.print(shown.picture())
    return str(console.file.getvalue())  # type: ignore[attr-defined]  # the StringIO above


def test_a_line_of_figures_has_what_one_wants_to_know() -> None:
    assert metric_line(METRIC) == (
        "epoch 3/30  loss 0.5123  accuracy 87.5%  test accuracy 90.0%  "
        "firing rate 0.030 0.040 0.050  1,500 spikes without a slot  83 s left"
    )


def test_layers_are_in_their_order() -> None:
    assert numbered(METRIC["values"], "firing_rate") == [0.03, 0.04, 0.05]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (99.4, "99 s"), (100, "1 min 40 s"),
     (5999, "99 min 59 s"), (7260, "2 h 01 min")],
)  # fmt: skip
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_part_that_takes_a_while_is_told_and_drawn_until_the_phase_ends() -> None:
    shown = progress()
    shown.take(event("state", state="compiling", reason=None, message=""))
    told = shown.take(
        event("progress", phase="compile", fraction=0.4, message="building the \x1b[1memulator")
    )
    assert told is not None
    assert told.endswith("compile 40%: building the \\x1b[1memulator"), told
    assert "compile 40%" in drawn(shown)
    shown.take(event("state", state="running", reason=None, message=""))
    assert "compile 40%" not in drawn(shown)


def test_what_is_told_and_what_is_not() -> None:
    shown = progress()
    lines: List[Any] = [
        shown.take(event("state", state="preparing", reason=None, message="")),
        shown.take(event("phase", phase="prepare")),
        shown.take(event("metric", **METRIC)),
        shown.take(event("log", message="chatter", level="info", stream="stdout")),
        shown.take(event("log", message="slow disk", level="warning", stream="runner")),
        shown.take(event("log", message="Traceback", level="warning", stream="stderr")),
        shown.take(event("checkpoint", path="c", epoch=1, step=1)),
        shown.take(event("state", state="failed", reason="diverged", message="at step 7")),
    ]
    told = [line.partition("  ")[2] for line in lines if line is not None]
    assert told == [
        "preparing",
        metric_line(METRIC),
        "warning: slow disk",
        "failed (diverged) at step 7",
    ]


def test_a_log_has_figures_now_and_then_and_the_last_ones() -> None:
    shown = progress()
    kept = []
    for step in range(1, 101):
        time = f"2026-01-02T03:04:{step // 10:02}.{step % 10}00Z"
        metric = event("metric", **{**METRIC, "step": step, "steps": 100})
        if shown.is_due(dataclasses.replace(metric, time=time_of(time))):
            kept.append(step)
    assert kept == [1, 21, 41, 61, 81, 100]
    assert shown.is_due(event("log", message="m", level="error", stream="runner"))


def test_the_picture_shows_the_latest() -> None:
    shown = progress()
    assert "queued" in drawn(shown)
    shown.take(event("state", state="running", reason=None, message=""))
    shown.take(event("metric", **METRIC))
    shown.take(event("log", message="slow disk", level="warning", stream="runner"))
    picture = drawn(shown)
    for words in ("digits", "job_1", "running", "epoch 3/30", "87.5%", "83 s left", "slow disk"):
        assert words in picture


@pytest.mark.parametrize(
    "bad", ["\x1b[2J", "\x9b31m", "\r", "\x07", "\u202e", "\u200b", "\u2028", "\ud800"], ids=ascii
)
def test_no_text_commands_the_terminal(bad: str) -> None:
    assert bad not in clean(f"a{bad}b")
    shown = Progress(Job.from_json(samples.job(name=f"a{bad}b")))
    line = shown.take(event("log", message=f"a{bad}b", level="error", stream="agent"))
    assert line is not None
    assert bad not in line
    assert bad not in drawn(shown).replace("\r\n", "\n")


def test_ordinary_text_stays_as_it_is() -> None:
    assert clean("tests ✓ grün 0.5 % [bold]") == "tests ✓ grün 0.5 % [bold]"
