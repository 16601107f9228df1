"""A whole attempt on a user's file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from tests.worker.runner.attempts import attempt

SPEC: Dict[str, Any] = {
    "version": 1,
    "data": {"kind": "npz", "name": "mine", "channels": 12, "classes": 3, "steps": 10},
    "network": {"layers": [{"neurons": 16}]},
    "training": {"epochs": 2, "batch_size": 16},
}


@pytest.fixture(autouse=True)
def _data_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads_are_set: None) -> None:
    monkeypatch.setenv("IPULSE_DATA", str(tmp_path))


@pytest.mark.old_python
def test_trains_on_a_file_of_the_data_directory(tmp_path: Path) -> None:
    """The report shows no image for these data, and warns of dropped events."""
    random = np.random.RandomState(4)
    labels = np.arange(90) % 3
    at = labels.repeat(5) * 4 + random.randint(4, size=450)  # a group of channels per class
    np.savez(
        str(tmp_path / "mine.npz"),
        labels=labels,
        event_samples=np.arange(90).repeat(5),
        event_times_ms=random.randint(11, size=450),  # some of them at 10, after the last step
        event_channels=at,
    )
    result = attempt(tmp_path / "work", SPEC)
    assert result.done["reason"] == "completed", result.done
    assert any(line.startswith("data: 90 samples, ") for line in result.log), result.log
    profile = json.loads((tmp_path / "work" / "profile.json").read_text())
    events = profile["activity"]["input"]["events"]
    assert events["read"] == 450 == events["kept"] + events["repeated"] + events["outside"]
    assert events["outside"] > 0
    page = (tmp_path / "work" / "report.html").read_text("utf-8")
    assert '<svg class="picture"' not in page
    assert "Input events were dropped" in page
    assert f"{events['outside']} are outside the 10 time steps" in page
    assert "recorded spikes" in page


def test_warns_in_log_and_report_of_times_in_another_unit(tmp_path: Path) -> None:
    times = np.random.RandomState(4).randint(10, size=450)
    np.savez(
        str(tmp_path / "mine.npz"),
        labels=np.arange(90) % 3,
        event_samples=np.arange(90).repeat(5),
        event_times_ms=np.where(np.arange(450) % 5 < 2, times, 1000 * times + 1000),
        event_channels=np.arange(450) % 12,
    )
    result = attempt(tmp_path / "work", SPEC)
    assert result.done["reason"] == "completed", result.done
    (warning,) = (
        event["message"]
        for event in result.events
        if event["kind"] == "log" and event["level"] == "warning"
    )
    assert "270 of 450 events are outside of the time steps" in warning
    page = (tmp_path / "work" / "report.html").read_text("utf-8")
    assert "270 of 450 events are outside of the time steps" in page


def test_data_without_a_spike_in_the_steps_end_as_invalid(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    np.savez(
        str(tmp_path / "mine.npz"),
        labels=np.arange(90) % 3,
        event_samples=np.arange(90),
        event_times_ms=np.full(90, 1234.5),
        event_channels=np.zeros(90, int),
    )
    done = attempt(tmp_path / "work", SPEC).done
    assert done["reason"] == "data_invalid"
    assert "90 events" in done["message"]
    assert "1,234.5 ms" in done["message"]
    assert "Traceback" not in capfd.readouterr().err


def test_reports_progress_of_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ipulse_worker.runner.phase_progress.DATA_SECONDS", 0.0)
    monkeypatch.setattr("ipulse_worker.runner.data.npz.SAMPLES_AT_ONCE", 20)
    spikes = np.random.RandomState(4).rand(50, 10, 12) < 0.2
    np.savez(str(tmp_path / "mine.npz"), labels=np.arange(50) % 3, spikes=spikes)
    result = attempt(tmp_path / "work", SPEC)
    parts = [event for event in result.events if event.get("message") == "loading samples"]
    assert [part["steps_done"] for part in parts] == [20, 40, 50]
    assert all((part["phase"], part["steps_total"]) == ("prepare", 50) for part in parts)
    assert [part["fraction"] for part in parts] == pytest.approx([0.7, 0.9, 1.0])


def test_a_file_that_is_not_there_fails_with_its_place_and_a_hint(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = attempt(tmp_path / "work", SPEC).done
    assert done["reason"] == "data_unavailable"
    assert f"{tmp_path}/mine.npz" in done["message"]
    assert "docs/reference/data.md" in done["message"]
    assert "Traceback" not in capfd.readouterr().err
