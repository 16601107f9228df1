"""The start of a runner before its assignment: the process and its imports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Sequence

from ipulse_worker.runner.clock import Span, Timeline

TENSORFLOW_IMPORT = "TensorFlow import"


@dataclass(frozen=True)
class RunnerStart:
    """The start of a runner."""

    import_seconds: float = 0.0  # of all imports
    spans: Sequence[Span] = ()  # on a clock that was 0 when the assignment arrived

    @classmethod
    def of(cls, startup: Timeline, import_seconds: float) -> RunnerStart:
        """Return the start of this process; its assignment arrives now.

        Args:
            startup: a timeline whose clock was started with the process.
            import_seconds: when this clock showed the end of all imports.
        """
        now = startup.clock.now()
        return cls(import_seconds, _moved(startup.spans, -now))

    def spans_within(self, seconds: float) -> List[Span]:
        """Return the spans of the last `seconds` before the assignment, on a clock from then on.

        A runner that waited for its assignment has imported TensorFlow earlier: no job waited.
        """
        found = []
        for span in _moved(self.spans, seconds):
            start, end = max(0.0, span.start), min(seconds, span.end)
            if start < end:
                found.append(Span(span.category, span.name, start, end))
        return found


def _moved(spans: Sequence[Span], by: float) -> List[Span]:
    return [Span(s.category, s.name, s.start + by, s.end + by, s.figures) for s in spans]
