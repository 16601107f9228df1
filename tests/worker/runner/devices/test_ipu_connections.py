"""When an IPU is attached."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, List

import pytest

from tests.ipu_fake import State
from tests.worker.runner.attempts import attempt

if TYPE_CHECKING:
    pass
from tests.worker.runner.devices.ipu_steps import on


def marks(lines: List[str]) -> List[str]:
    """The lines of TensorFlow's log that note 004's checks look for."""
    known = ("Compiled ", "attached to ", "pre-compiled ")
    return [mark.strip() for line in lines for mark in known if mark in line]


class TestConnections:
    """Graphcore's own checks of its connection types, on our lines and on TensorFlow's."""

    @pytest.fixture(autouse=True)
    def _fast(self, device: State) -> None:
        device.checks_with_xla = False  # of the same programs that a test above has

    @pytest.mark.old_python
    @pytest.mark.parametrize(
        ("connection", "ours", "theirs"),
        [
            ("ALWAYS", ["attached", "compiled"], ["attached to", "Compiled"]),
            ("ON_DEMAND", ["compiled", "attached"], ["Compiled", "attached to"]),
            ("PRE_COMPILE", ["pre-compiled"], ["pre-compiled"]),
            ("NEVER", ["compiled"], ["Compiled"]),
        ],
    )
    @pytest.mark.sample(2)
    def test_each_in_its_order(
        self, device: State, tmp_path: Path, connection: str, ours: List[str], theirs: List[str]
    ) -> None:
        result = attempt(tmp_path / "work", on("ipu", connection_type=connection))
        assert result.done["reason"] == "completed", result.done
        assert [line.split(" ")[0] for line in result.trace] == ours
        assert list(dict.fromkeys(marks(device.log)))[:2] == theirs
        executes = connection in ("ALWAYS", "ON_DEMAND")
        assert (result.directory / "weights.npz").exists() == executes
        assert device.configured is None  # given back

    def test_a_run_starts_from_what_was_compiled_ahead(self, device: State, tmp_path: Path) -> None:
        ahead = attempt(tmp_path / "ahead", on("ipu", connection_type="PRE_COMPILE"))
        executables = json.loads((ahead.directory / "executable.json").read_text())["executables"]
        assert len(executables) == 3  # to train, to test, to look
        device.log.clear()
        result = attempt(tmp_path / "run", on("ipu"))
        assert result.done["reason"] == "completed", result.done
        assert result.trace[0].startswith("loaded from the executable cache")
        assert all(executable["key"] in result.trace[0] for executable in executables)
        assert marks(device.log) == ["attached to"]

    @pytest.mark.parametrize("connection", ["ALWAYS", "ON_DEMAND"])
    def test_no_device_is_a_clear_failure(
        self, device: State, tmp_path: Path, connection: str
    ) -> None:
        device.devices = 0
        result = attempt(tmp_path / "work", on("ipu", connection_type=connection))
        assert result.done["reason"] == "device_unavailable"
        assert "TensorFlow has no IPU for this job" in result.done["message"]
