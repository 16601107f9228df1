"""The display of a job that changes while it is watched on a terminal."""

from __future__ import annotations

import dataclasses

from ipulse.cli.display.progress import JobProgress
from ipulse.times import time_of
from tests.ipulse.cli.test_progress import EPOCH, METRIC, build_event, drawn, event, progress
from tests.ipulse.client import samples


def test_the_display_shows_for_how_long_a_state_lasts() -> None:
    now = time_of("2026-01-02T03:04:00Z")
    shown = JobProgress(samples.snapshot(state="queued"), now=lambda: now)
    state = event("state", state="compiling", reason=None, message="")
    shown.take(dataclasses.replace(state, time=time_of("2026-01-02T03:03:15Z")))
    assert "compiling  45 s" in drawn(shown)
    now = time_of("2026-01-02T03:05:00Z")
    assert "compiling  1 min 45 s" in drawn(shown)
    end = event("state", state="failed", reason="diverged", message="")
    shown.take(dataclasses.replace(end, time=now))
    assert "0.0 s" not in drawn(shown)


def test_a_wait_for_the_build_of_another_process_is_shown() -> None:
    shown = progress()
    line = shown.take(build_event(waiting=True))
    assert line is not None
    assert "40 s left" in line
    for words in ("waiting for process 4711", "liblif.so", "3 of 20 done"):
        assert words in line
        assert words in drawn(shown)
    shown.take(build_event(waiting=False))
    assert "waiting" not in drawn(shown)


def test_the_expected_time_of_a_build_decreases_between_its_steps() -> None:
    now = time_of("2026-01-02T03:04:00Z")
    shown = JobProgress(samples.snapshot(state="compiling"), now=lambda: now)
    shown.take(dataclasses.replace(build_event(waiting=False), time=now))
    assert "compile 15%, 3 of 20 done, 40 s left" in drawn(shown)
    now = time_of("2026-01-02T03:04:30Z")
    assert "10 s left" in drawn(shown)
    now = time_of("2026-01-02T03:05:30Z")
    assert "longer than expected" in drawn(shown)


def test_the_display_shows_the_latest_state() -> None:
    shown = progress()
    assert "queued" in drawn(shown)
    shown.take(event("state", state="running", reason=None, message=""))
    shown.take(event("metric", **METRIC))
    shown.take(event("log", message="slow disk", level="warning", stream="runner"))
    picture = drawn(shown)
    for words in ("digits", "job_1", "running", "epoch 3/30", "87.5 %", "83 s left", "slow disk"):
        assert words in picture


def test_the_display_of_a_running_job_fits_into_80_columns() -> None:
    shown = progress()
    large = {"epoch": 1999, "epochs": 2000, "step": 399_999, "steps": 400_000}
    shown.take(event("metric", **{**EPOCH, **large, "epoch": 1998}))
    shown.take(event("metric", **{**METRIC, **large}))
    shown.take(build_event(waiting=True))
    assert max(map(len, drawn(shown, width=200).splitlines())) <= 80
