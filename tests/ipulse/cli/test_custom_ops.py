"""`ipulse ops check`, which asks a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

from ipulse_ops.lif.poplar.build import build

from .conftest import Run


def test_our_own_library_is_fit(offline: Run) -> None:
    ran = offline("ops", "check", "--pre-compile", str(build().library))
    assert ran.code == 0
    assert ran.out.endswith("is fit for use\n")


def test_what_is_wrong_is_said_in_words_and_as_json(offline: Run) -> None:
    library = str(build(4).library)
    ran = offline("ops", "check", library)
    assert ran.code == 2
    assert "error: its API level is 4, expected 5" in ran.out
    said = json.loads(offline("ops", "check", "--json", library).out)
    assert (said["fine"], said["findings"][0]["code"]) == (False, "api_level")


def test_what_is_no_library_is_an_error_in_a_sentence(offline: Run, tmp_path: Path) -> None:
    ran = offline("ops", "check", str(tmp_path / "gone.so"))
    assert ran.code == 2
    assert "No such file" in ran.err
    assert "Traceback" not in ran.err
