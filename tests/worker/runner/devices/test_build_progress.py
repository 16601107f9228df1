"""Progress events of an attempt while a library is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Optional

import pytest

from ipulse_core.build_cache.progress import BuildProgress
from ipulse_ops.lif.cpu import native
from tests.worker.runner.attempts import attempt
from tests.worker.runner.conftest import SPEC


def progress(done: int, **changes: Any) -> BuildProgress:
    fields = {"what": "lib.so", "total": 40, "elapsed": 2.0, "expected": 8.0, "process": 7}
    return BuildProgress(done=done, **{**fields, **changes})


@pytest.mark.usefixtures("threads_are_set")
def test_events_have_the_steps_of_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build, calls = native.build_kernels, []

    def slow_build(report: Optional[Callable[[BuildProgress], None]] = None) -> Any:
        calls.append(report)
        if report is not None and len(calls) == 1:
            for done in range(41):
                report(progress(done))
            report(progress(10, waiting=True, expected=None))
        return build()

    monkeypatch.setattr(native, "build_kernels", slow_build)
    result = attempt(tmp_path / "work", SPEC)
    assert result.done["reason"] == "completed", result.done
    events = [event for event in result.events if event.get("steps_total") == 40]
    first, *between, last, waits = events
    assert len(between) <= 2, "40 steps at once give only a few events per second"
    assert (first["steps_done"], first["steps_total"]) == (0, 40)
    assert (first["remaining_seconds"], first["waiting"]) == (6.0, False)
    assert last["steps_done"] == 40
    assert last["fraction"] > first["fraction"] == 0.0
    assert (waits["waiting"], waits["remaining_seconds"]) == (True, None)
    assert "waiting for process 7" in waits["message"]
    assert any("waiting for process 7" in line for line in result.log)
