"""One finding of the report, and the finding of a regression that has not learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ipulse_worker.runner.report.training_facts import TrainingFacts


@dataclass(frozen=True)
class Advice:
    """One finding: what was measured, what it means and what to do."""

    weight: int  # the heaviest findings are shown first
    title: str  # with the number
    meaning: str
    action: str
    section: str = ""  # id of the section of the report that shows the details


def no_better_than_the_mean(facts: TrainingFacts) -> Optional[Advice]:
    """A regression predicts no better than always answering the mean of the targets."""
    if facts.r2 is None or facts.r2 > 0:
        return None
    return Advice(
        100,
        f"R² on the {facts.held_out} samples is {facts.r2:.3f}",
        "Always answering the mean of the targets gives 0.",
        "Raise training.optimizer.learning_rate, check that layers spike, and scale the targets to "
        "about -1 to 1.",
        "regression",
    )
