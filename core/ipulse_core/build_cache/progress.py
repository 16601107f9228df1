"""Progress of a build, and the callback that reports it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, fields, replace
from typing import Callable, Optional


@dataclass(frozen=True)
class BuildProgress:
    """The state of a build after one of its steps. As a string it is a line for people."""

    what: str  # for instance "liblif.so"
    done: int  # finished steps: compiled units, links
    total: int
    elapsed: float  # seconds since the build began
    expected: Optional[float]  # seconds that the whole build is expected to take
    process: int  # the process that builds
    waiting: bool = False  # whether the reporting process waits for that process

    @property
    def fraction(self) -> float:
        """The finished part of the steps, from 0 to 1; it never decreases during a build."""
        return self.done / self.total

    @property
    def remaining(self) -> Optional[float]:
        """Expected seconds until the build is complete."""
        return None if self.expected is None else max(0.0, self.expected - self.elapsed)

    @property
    def activity(self) -> str:
        """The present step for people, without the numbers of the other fields."""
        if self.waiting:
            holder = f"process {self.process}" if self.process else "another process"
            return f"waiting for {holder}, which builds {self.what}"
        if self.done >= self.total:
            return f"built {self.what} in {self.elapsed:.1f} s"
        return f"building {self.what} (once; the result is cached)"

    def __str__(self) -> str:
        """A line for people, without a line end."""
        if not self.is_known or (self.done >= self.total and not self.waiting):
            return self.activity
        line = f"building {self.what}: step {self.done} of {self.total}"
        if self.done:
            line += f" done after {self.elapsed:.0f} s"
        if self.remaining is not None:
            line += f", about {self.remaining:.0f} s left"
        if self.waiting:
            return f"waiting for process {self.process}: {line}"
        return line if self.done else f"{line} (once; the result is cached)"

    @property
    def is_known(self) -> bool:
        """Return whether this process knows the steps; a process that waits may not."""
        return bool(self.process)

    @classmethod
    def of_unknown_process(cls, what: str) -> BuildProgress:
        """Return the progress of a build of which only the lock is seen."""
        return cls(what, 0, 1, 0.0, None, process=0, waiting=True)

    def as_seen_by_another(self) -> BuildProgress:
        """Return the same progress for a process that waits for the build."""
        return replace(self, waiting=True)

    def to_json(self) -> str:
        """Serialize this value for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Optional[BuildProgress]:
        """Parse what `to_json` returned; None for any other text."""
        try:
            value = json.loads(text)
            return cls(**{field.name: value[field.name] for field in fields(cls)})
        except (ValueError, TypeError, KeyError):
            return None


ProgressCallback = Callable[[BuildProgress], None]


def print_progress(progress: BuildProgress) -> None:
    """Print one line on standard error."""
    sys.stderr.write(f"IPUlse: {progress}\n")
    sys.stderr.flush()
