"""Whole programs: control flow, callbacks, executables and optional reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

RESULTS: Dict[str, str] = {
    "if_in_repeat": "14",  # 2 + 10 + 2
    "while_in_repeat": "9",  # 2 x 3 trips, then up to the first number above 8
    # cases 0, default, 2, 3, default; case 1; four times the default; five times a case
    "switch": "5411121",
    "calls": "4",
    # Two are fetched ahead, the third when it is wanted; each is completed.
    "callbacks": "pcpcpfc 1 2 3",
}


def values_of(run_program: Callable, case: str, **more: str) -> str:
    done = run_program("runs", case, more=tuple(more.items()))
    assert done.returncode == 0, done.stderr
    name, _, values = done.stdout.partition(": ")
    assert name == case
    return str(values.strip())


@pytest.mark.parametrize("case", sorted(RESULTS))
def test_programs_print_the_expected_results(run_program: Callable, case: str) -> None:
    assert values_of(run_program, case) == RESULTS[case]


def test_foreign_executables_are_rejected(run_program: Callable) -> None:
    good, rest = values_of(run_program, "executables").split(" ", 1)
    foreign, version, cut, damaged = rest.split(" | ")
    assert good == "42"
    assert foreign == "parse_error: the stream holds no executable of this emulator"
    assert version.startswith("parse_error: the executable has format 1 and this emulator reads")
    assert cut == "parse_error: the executable is cut short"
    assert damaged == "1"


class TestOptions:
    def profile(self, run_program: Callable, directory: Path, **options: str) -> Any:
        variables = {"autoReport.directory": str(directory), **options}
        values_of(run_program, "report", POPLAR_ENGINE_OPTIONS=json.dumps(variables))
        path = directory / "profile.json"
        return json.loads(path.read_text()) if path.exists() else None

    def test_all_reports_are_written_to_a_folder_named_after_the_engine(
        self, run_program: Callable, tmp_path: Path
    ) -> None:
        profile = self.profile(run_program, tmp_path / "new", **{"autoReport.all": "true"})
        assert set(profile) == {"emulated", "compilation", "execution"}
        assert [run["name"] for run in profile["execution"]["runs"]] == ["run 0", "run 1"]
        assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
            "named",
            "profile.json",
        ]

    def test_each_report_has_its_option(self, run_program: Callable, tmp_path: Path) -> None:
        runs = {"autoReport.executionProfileProgramRunCount": "3"}
        execution = {"autoReport.outputExecutionProfile": "true", **runs}
        profile = self.profile(run_program, tmp_path, **execution)
        assert set(profile) == {"emulated", "execution"}
        assert len(profile["execution"]["runs"]) == 3
        but = {"autoReport.all": "true", "autoReport.outputExecutionProfile": "false"}
        assert set(self.profile(run_program, tmp_path, **but)) == {"emulated", "compilation"}

    def test_no_option_writes_no_report(self, run_program: Callable, tmp_path: Path) -> None:
        assert self.profile(run_program, tmp_path) is None

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"autoReport.all": "yes"}, '\'autoReport.all\' is "true" or "false", not "yes"'),
            ({"autoReport.executionProfileProgramRunCount": "-1"}, "a number of runs"),
        ],
    )
    def test_an_invalid_option_value_is_rejected(
        self, run_program: Callable, options: Dict[str, str], words: str
    ) -> None:
        done = run_program("runs", "report", more=(("POPLAR_ENGINE_OPTIONS", json.dumps(options)),))
        assert "poplar::invalid_option" in done.stderr
        assert words in done.stderr

    def test_out_of_memory_writes_a_profile_and_names_its_path(
        self, run_program: Callable, tmp_path: Path
    ) -> None:
        variables = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
        path = values_of(run_program, "out_of_memory", POPLAR_ENGINE_OPTIONS=json.dumps(variables))
        assert Path(path) == tmp_path / "profile.json"
        compilation = json.loads(Path(path).read_text())["compilation"]
        full = [tile["memory"]["overflowed"]["includingGaps"] > 0 for tile in compilation["tiles"]]
        assert full == [False, False, True, False]
        assert compilation["fullestTile"]["tile"] == 2
        assert compilation["fullestTile"]["variables"][0] == {"name": "wide", "size": 800000}


class TestLog:
    def lines(self, run_program: Callable, **environment: str) -> str:
        done = run_program("runs", "calls", more=tuple(environment.items()))
        return str(done.stderr)

    def test_logging_is_off_by_default(self, run_program: Callable) -> None:
        assert self.lines(run_program) == ""

    def test_a_level_applies_to_all_modules_or_to_one(self, run_program: Callable) -> None:
        info = self.lines(run_program, POPLAR_LOG_LEVEL="INFO")
        assert "PO:ENGINE INFO: ran program 0: " in info
        assert "TRACE" not in info
        program = self.lines(run_program, POPLAR_PROGRAM_LOG_LEVEL="TRACE")
        assert program.count("PO:PROGRAM TRACE: OnTileExecute") == 4
        assert "ENGINE" not in program
        less = self.lines(run_program, POPLAR_LOG_LEVEL="INFO", POPLAR_ENGINE_LOG_LEVEL="ERR")
        assert "ENGINE" not in less

    def test_the_log_can_be_a_file(self, run_program: Callable, tmp_path: Path) -> None:
        file = tmp_path / "log"
        where = {"POPLAR_LOG_LEVEL": "INFO", "POPLAR_LOG_DEST": str(file)}
        assert self.lines(run_program, **where) == ""
        assert "PO:ENGINE INFO" in file.read_text()

    def test_an_invalid_level_is_reported(self, run_program: Callable) -> None:
        assert "POPLAR_LOG_LEVEL is 'LOUD'" in self.lines(run_program, POPLAR_LOG_LEVEL="LOUD")
