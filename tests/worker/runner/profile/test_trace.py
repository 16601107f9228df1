from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, Dict, List

import pytest

from ipulse_core import strict_json
from ipulse_worker.runner.clock import Clock, Timeline
from ipulse_worker.runner.training.step_times import StepTime
from ipulse_worker.runner.training.trace import TRACED_STEPS, chrome_trace, trace_step
from tests.worker.runner.driven_runner import DrivenRunner

Slice = Dict[str, Any]


@pytest.fixture(scope="module")
def events(finished_dir: Path, finished: DrivenRunner) -> List[Slice]:
    document = strict_json.loads(gzip.decompress((finished_dir / "trace.json.gz").read_bytes()))
    slices_and_marks: List[Slice] = document["traceEvents"]
    return slices_and_marks


def slices(events: List[Slice], category: str) -> List[Slice]:
    return [event for event in events if event["ph"] == "X" and event["cat"] == category]


class TestChromeTrace:
    @pytest.mark.old_python
    def test_has_the_fields_that_viewers_need(self, events: List[Slice]) -> None:
        for event in events:
            assert event["ph"] in "XMC"
            assert isinstance(event["pid"], int)
            assert isinstance(event["tid"], int)
            assert event["name"]
            if event["ph"] == "X":
                assert event["ts"] >= 0
                assert event["dur"] >= 0
        named = {event["name"]: event["args"]["name"] for event in events if event["ph"] == "M"}
        assert named["process_name"] == "IPUlse runner: small <digits> & more"

    def test_slices_of_a_row_nest(self, events: List[Slice]) -> None:
        """Perfetto draws a row only if each slice lies within the one that began before it."""
        for row in {event["tid"] for event in events if event["ph"] == "X"}:
            open_until: List[float] = []
            for event in (e for e in events if e["ph"] == "X" and e["tid"] == row):
                end = event["ts"] + event["dur"]
                while open_until and open_until[-1] <= event["ts"] + 1e-3:
                    open_until.pop()
                assert not open_until or end <= open_until[-1] + 1e-3, event
                open_until.append(end)

    def test_shows_phases_epochs_steps_and_kernels(self, events: List[Slice]) -> None:
        phases = [event["name"] for event in slices(events, "phase")]
        assert phases == ["prepare", "compile", "acquire", "run", "report"]
        assert len(slices(events, "epoch")) == 40
        assert len(slices(events, "step")) == 200
        parts = [event["name"] for event in slices(events, "part")[:4]]
        assert parts == ["data", "gradients", "optimizer", "metrics"]
        kernels = slices(events, "kernel")
        assert [event["name"] for event in kernels[:2]] == ["forward", "backward"]
        assert len(kernels) == 400

    def test_kernels_are_inside_their_gradient_call(self, events: List[Slice]) -> None:
        calls = [event for event in slices(events, "part") if event["name"] == "gradients"]
        for number, kernel in enumerate(slices(events, "kernel")):
            call = calls[number // 2]
            assert call["ts"] - 1 <= kernel["ts"]
            assert kernel["ts"] + kernel["dur"] <= call["ts"] + call["dur"] + 1


class TestTraceStep:
    def test_stops_after_so_many_steps(self) -> None:
        timeline = Timeline(Clock())
        step = StepTime(0.0, 1.0, 2.0, 3.0, 4.0, 0.1, 0.1)
        trace_step(timeline, TRACED_STEPS, step, 0.5)
        before = len(timeline.spans)
        trace_step(timeline, TRACED_STEPS + 1, step, 0.5)
        assert len(timeline.spans) == before > 0
        assert chrome_trace(timeline, "x") == chrome_trace(timeline, "x")
