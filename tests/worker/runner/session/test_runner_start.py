from __future__ import annotations

import pytest

from ipulse_worker.runner.clock import Clock, Span, Timeline
from ipulse_worker.runner.runner_start import RunnerStart

# Imported TensorFlow from 10 to 4 s before its assignment.
START = RunnerStart(7.0, [Span("start", "import", -10.0, -4.0)])


@pytest.mark.parametrize(
    ("waited", "within"),
    [
        (12.0, [(2.0, 8.0)]),  # it was started for the job
        (7.0, [(0.0, 3.0)]),  # the job came during the import
        (4.0, []),  # it was warm
        (0.0, []),
    ],
)
def test_only_what_the_job_waited_for_is_its_time(
    waited: float, within: list[tuple[float, float]]
) -> None:
    spans = [(span.start, span.end) for span in START.spans_within(waited)]
    assert spans == [pytest.approx(span) for span in within]


def test_spans_of_a_start_end_before_the_assignment() -> None:
    startup = Timeline(Clock())
    with startup.span("start", "import"):
        pass
    start = RunnerStart.of(startup, startup.clock.now())
    (span,) = start.spans
    assert span.start <= span.end <= 0
    assert start.spans_within(1e6) != [] or span.start == span.end
