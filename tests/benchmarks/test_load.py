"""The load benchmark measures IPUlse and a peer."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.service import clients, load, parts
from benchmarks.service.systems import catalogue as systems
from benchmarks.service.systems.celery import CelerySystem
from benchmarks.service.systems.ipulse import IpulseSystem


class TestLoad:
    def test_percentiles_of_few_and_many_samples(self) -> None:
        assert clients.percentiles([], "x_") == {}
        assert clients.percentiles([5.0], "x_") == {"x_p50_ms": 5, "x_p99_ms": 5, "x_max_ms": 5}
        many = clients.percentiles([float(n) for n in range(1, 201)])
        assert many == {"p50_ms": 100, "p99_ms": 198, "max_ms": 200}

    def test_errors_are_counted(self) -> None:
        answers = clients.Answers([1.0])
        answers.failed("503")
        answers.failed("ReadTimeout")
        assert answers.figures("status_")["status_errors"] == 2

    def test_the_csv_has_a_row_per_figure(self) -> None:
        rows = [{"system": "a", "p50_ms": 1.0, "p99_ms": 2.0}]
        assert load.flattened("jobs", rows) == [
            {"part": "jobs", "system": "a", "figure": "p50_ms", "value": 1.0},
            {"part": "jobs", "system": "a", "figure": "p99_ms", "value": 2.0},
        ]

    def test_parts_name_systems_that_exist(self) -> None:
        for name, part in parts.PARTS.items():
            assert set(part.systems) <= set(systems.SYSTEMS), name

    @pytest.mark.verify
    def test_measures_submissions_lists_streams_and_files(self, tmp_path: Path) -> None:
        with IpulseSystem(tmp_path / "ipulse") as system:
            assert clients.one_by_one(system, system.submission, 5).errors == {}
            figures = parts.backlog(system, tmp_path, True)
            assert figures["queued"] == 100
            assert figures["list_p50_ms"] > 0
            assert parts.streams(system, tmp_path, True)["received"] == 20 * 3
            assert parts.uploads(system, tmp_path, True)["mib_per_second"] > 0
            assert parts.downloads(system, tmp_path, True)["mib_per_second"] > 0

    @pytest.mark.verify
    def test_runs_jobs_of_a_peer(self, tmp_path: Path) -> None:
        with CelerySystem(tmp_path / "celery") as system:
            figures = parts.jobs(system, tmp_path, True)
            assert figures["jobs"] == 3
            assert figures["begin_p50_ms"] > 0
            assert parts.uploads(system, tmp_path, True)["mib_per_second"] > 0
