"""Builds report their steps, their expected duration and a wait for another process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import List

import pytest

from ipulse_core.build_cache.build_once import Steps, build_once, expected_seconds
from ipulse_core.build_cache.durations import (
    FILE,
    record_steps,
    recorded_seconds,
    recorded_steps,
)
from ipulse_core.build_cache.progress import BuildProgress, print_progress

ANOTHER_BUILD = """
import sys
from pathlib import Path
from ipulse_core.build_cache.build_once import build_once

def make(complete, scratch, steps):
    steps.begin(3)
    steps.finish_one()
    print("one step", flush=True)
    sys.stdin.read()
    (complete / "library").touch()

build_once("the library", "library", Path(sys.argv[1]), "library", make, lambda progress: None)
"""


def make(complete: Path, scratch: Path, steps: Steps) -> None:
    steps.begin(3)
    steps.run([(scratch / name).touch for name in ("a", "b")])
    (complete / "library").touch()
    steps.finish_one()


def build(directory: Path, reports: List[BuildProgress]) -> Path:
    return build_once("the library", "library", directory, "library", make, reports.append)


@pytest.mark.old_python
def test_every_finished_step_is_reported_once(tmp_path: Path) -> None:
    reports: List[BuildProgress] = []
    assert build(tmp_path / "library-1", reports).exists()
    assert [report.done for report in reports] == [0, 1, 2, 3]
    assert {report.total for report in reports} == {3}
    assert [report.fraction for report in reports] == [0, 1 / 3, 2 / 3, 1]
    times = [report.elapsed for report in reports]
    assert times == sorted(times)
    assert reports[0].expected is None  # nothing is known yet
    assert all(report.expected for report in reports[1:])


def test_an_earlier_build_gives_the_expected_duration(tmp_path: Path) -> None:
    record_steps(tmp_path, "library", [40.0])
    reports: List[BuildProgress] = []
    build(tmp_path / "library-2", reports)
    assert reports[0].expected == 40.0
    assert "step 0 of 3, about 40 s left" in str(reports[0])
    assert recorded_seconds(tmp_path, "library") != 40.0


def test_a_machine_under_load_is_expected_to_stay_slow() -> None:
    """The steps of an earlier build took 10, 10 and 20 s; now they take three times as long."""
    recorded = [10.0, 20.0, 40.0]
    assert expected_seconds(recorded, 0, 3, last=0, elapsed=0) == 40
    late = expected_seconds(recorded, 0, 3, last=0, elapsed=25)  # and the first is not done
    first = expected_seconds(recorded, 1, 3, last=30, elapsed=30)
    second = expected_seconds(recorded, 2, 3, last=60, elapsed=60)
    assert late is not None
    assert first is not None
    assert second is not None
    assert 40 < late < first < second < 120
    assert second == pytest.approx(120, rel=0.15)


def test_a_fast_machine_is_expected_to_stay_fast() -> None:
    recorded = [10.0, 20.0, 40.0]
    second = expected_seconds(recorded, 2, 3, last=5, elapsed=5)
    assert second is not None
    assert 10 < second < 20
    assert expected_seconds(recorded, 2, 3, last=5, elapsed=50) == pytest.approx(50, rel=0.1)


def test_long_steps_are_expected_to_take_long_again() -> None:
    """Without a record, steps count alike; with one, the last of two takes nine tenths."""
    assert expected_seconds([], 0, 2, last=0, elapsed=5) is None
    assert expected_seconds([], 1, 2, last=5, elapsed=5) == 10
    assert expected_seconds([5.0, 50.0], 1, 2, last=5, elapsed=5) == 50


def test_the_steps_of_a_build_are_recorded(tmp_path: Path) -> None:
    build(tmp_path / "library-3", [])
    steps = recorded_steps(tmp_path, "library")
    assert len(steps) in (0, 3)  # none if it took less than can be recorded
    record_steps(tmp_path, "library", [1.0, 2.0, 4.0])
    assert recorded_steps(tmp_path, "library") == [1.0, 2.0, 4.0]
    assert recorded_seconds(tmp_path, "library") == 4.0


def test_a_damaged_record_of_durations_is_ignored(tmp_path: Path) -> None:
    for text in ("", "[]", '{"library": "long"}', '{"library": []}', '{"library": [null]}', "{"):
        (tmp_path / FILE).write_text(text)
        assert recorded_seconds(tmp_path, "library") is None
    record_steps(tmp_path, "library", [2.0])
    assert recorded_seconds(tmp_path, "library") == 2.0


def test_a_waiting_process_reports_the_build_that_it_waits_for(tmp_path: Path) -> None:
    directory = tmp_path / "library-1"
    other = subprocess.Popen(
        [sys.executable, "-c", ANOTHER_BUILD, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert other.stdout is not None
    assert other.stdin is not None
    assert other.stdout.readline() == b"one step\n"
    reports: List[BuildProgress] = []

    def report(progress: BuildProgress) -> None:
        reports.append(progress)
        if len(reports) == 1:
            assert other.stdin is not None
            other.stdin.close()  # lets the other process finish

    built = build_once("the library", "library", directory, "library", make, report)
    assert built.exists()
    other.stdout.close()
    assert other.wait() == 0
    first = reports[0]
    assert (first.waiting, first.process, first.done) == (True, other.pid, 1)
    assert str(first).startswith(f"waiting for process {other.pid}: building the library: step 1")
    assert all(progress.waiting for progress in reports)  # this process built nothing


def test_a_failed_step_stops_the_build(tmp_path: Path) -> None:
    def fail() -> None:
        raise ValueError("no")

    def make_fails(complete: Path, scratch: Path, steps: Steps) -> None:
        steps.begin(2)
        steps.run([fail, fail])

    reports: List[BuildProgress] = []
    directory = tmp_path / "library-1"
    with pytest.raises(ValueError, match="no"):
        build_once("the library", "library", directory, "library", make_fails, reports.append)
    assert [report.done for report in reports] == [0]
    assert not directory.exists()
    assert recorded_seconds(tmp_path, "library") is None
    build(directory, reports)
    assert reports[-1].done == 3


def test_the_default_callback_prints_lines(capsys: pytest.CaptureFixture[str]) -> None:
    for progress in (
        BuildProgress("liblif.so", 0, 12, 0.0, 41.0, process=7),
        BuildProgress("liblif.so", 3, 12, 14.2, 41.0, process=7),
        BuildProgress("liblif.so", 3, 12, 14.2, None, process=7, waiting=True),
        BuildProgress("liblif.so", 12, 12, 41.3, 41.3, process=7),
    ):
        print_progress(progress)
    assert capsys.readouterr().err.splitlines() == [
        "IPUlse: building liblif.so: step 0 of 12, about 41 s left (once; the result is cached)",
        "IPUlse: building liblif.so: step 3 of 12 done after 14 s, about 27 s left",
        "IPUlse: waiting for process 7: building liblif.so: step 3 of 12 done after 14 s",
        "IPUlse: built liblif.so in 41.3 s",
    ]


def test_progress_survives_its_serialization() -> None:
    progress = BuildProgress("liblif.so", 3, 12, 14.2, None, process=7)
    assert BuildProgress.from_json(progress.to_json()) == progress
    for text in ("", "{}", "[1]", "3"):
        assert BuildProgress.from_json(text) is None
