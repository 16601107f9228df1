"""`ipulse op check`, which runs the check in another process."""

from __future__ import annotations

import json
from pathlib import Path

from ipulse_ops.lif.poplar.build import build
from tests.ipulse.cli.conftest import Run


def test_our_own_library_is_usable(offline: Run) -> None:
    ran = offline("op", "check", "--pre-compile", str(build().library))
    assert ran.code == 0
    assert "not usable" not in ran.out


def test_the_former_name_of_the_group_works_and_prints_the_new_one(
    offline: Run, tmp_path: Path
) -> None:
    ran = offline("ops", "check", str(tmp_path / "gone.so"))
    assert ran.code == 2
    assert "No such file" in ran.err
    assert "use ipulse op\n" in ran.err
    assert "renamed" not in offline("op", "check", str(tmp_path / "gone.so")).err
    assert "\n  ops " not in offline("--help").out


def test_findings_are_printed_as_text_and_as_json(offline: Run) -> None:
    library = str(build(4).library)
    ran = offline("op", "check", library)
    assert ran.code == 2
    assert "error: " in ran.out
    assert "not usable" in ran.out
    report = json.loads(offline("op", "check", "--json", library).out)
    assert (report["fine"], report["findings"][0]["code"]) == (False, "api_level")


def test_a_missing_library_is_an_error_without_a_traceback(offline: Run, tmp_path: Path) -> None:
    ran = offline("op", "check", str(tmp_path / "gone.so"))
    assert ran.code == 2
    assert "No such file" in ran.err
    assert "Traceback" not in ran.err
