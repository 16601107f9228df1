"""The networks that the accuracy benchmark trains, and their targets."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Task:
    """One network on one data set."""

    example: str  # of examples/, without .yaml
    target: float  # the mean accuracy over the seeds must reach it
    neurons: tuple[int, ...] | None = None  # of the hidden layers; None: as in the example
    quick_epochs: int = 2
    quick_target: float = 0.5
    int4_target: float | None = None  # None: target
    adapts: bool = True  # False removes the example's adaptive thresholds
    drops: bool = True  # False removes the example's dropout
    delays: str | None = None  # "none" or "synapse" in place of the example's trained delays
    decay: float | None = None  # of the hidden membranes; None: as in the example
    at_most: float = 1.0  # the mean accuracy must not exceed it
    splits: bool = False  # each seed has its own split into training and test samples
    program: str | None = None  # of examples/, that writes the data set to a directory

    def target_of(self, weights: str) -> float:
        """Return the mean accuracy that networks with these weights must reach."""
        return self.int4_target if weights == "int4" and self.int4_target else self.target

    @property
    def is_control(self) -> bool:
        """True for a network that lacks what its example is about, to compare with."""
        return not (self.adapts and self.drops) or self.delays == "none"

    @property
    def title(self) -> str:
        """The task's name in tables."""
        if not self.adapts:
            return f"{self.example} without adaptation"
        if not self.drops:
            return f"{self.example} without dropout"
        if self.delays is not None:
            end = "without delays" if self.delays == "none" else "with delays of synapses"
            decay = "" if self.decay is None else f", decay {self.decay}"
            return f"{self.example} {end}{decay}"
        layers = len(self.neurons) if self.neurons else 0
        return f"{self.example}, {layers} layers" if layers > 1 else self.example


TEMPORAL_ORDER = Task(
    "temporal_order", 0.88, quick_epochs=6, quick_target=0.7, program="temporal_order.py"
)
WITHOUT_DELAYS = replace(TEMPORAL_ORDER, target=0.0, quick_target=0.0, delays="none", at_most=0.4)
TASKS = (
    Task("randman", 0.99, quick_epochs=5, quick_target=0.9),
    Task("randman", 0.99, neurons=(128, 128, 128), quick_epochs=4, quick_target=0.88),
    Task("yin_yang", 0.95, quick_epochs=6, quick_target=0.915, int4_target=0.93),
    Task("digits_population", 0.97, quick_epochs=1, quick_target=0.94),
    Task("delayed_recall", 0.93, quick_epochs=20, quick_target=0.9),
    # The purpose of the task: without adaptation, recurrent neurons guess one of two classes.
    Task("delayed_recall", 0.0, quick_target=0.0, quick_epochs=20, adapts=False, at_most=0.6),
    Task("few_samples", 0.88, int4_target=0.87, quick_epochs=60, quick_target=0.75, splits=True),
    Task("few_samples", 0.86, quick_epochs=60, drops=False, splits=True),
    Task("moving_digits", 0.9, quick_epochs=2, quick_target=0.5, program="moving_digits.py"),
    TEMPORAL_ORDER,
    replace(TEMPORAL_ORDER, target=0.82, quick_epochs=8, quick_target=0.6, delays="synapse"),
    # The purpose of the task: membranes forget a sound before the next one.
    WITHOUT_DELAYS,
    replace(WITHOUT_DELAYS, decay=0.97, at_most=0.85),
)
