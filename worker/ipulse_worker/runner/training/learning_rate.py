"""The learning rate of each training step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ipulse_ops.exact_math import cosine_of_turns

if TYPE_CHECKING:
    from ipulse.spec import TrainingSpec


def learning_rate(training: TrainingSpec, step: int, steps: int) -> float:
    """Return the learning rate of update `step`, from 1, of `steps` updates.

    Warm-up multiplies the optimizer's rate by step / warmup_steps until this factor is 1. A cosine
    schedule then decreases along half a cosine to `final_share` of the rate at the last step.
    """
    schedule = training.schedule
    full = training.optimizer.learning_rate
    if step < schedule.warmup_steps:
        return full * step / schedule.warmup_steps
    if schedule.shape == "constant":
        return full
    first = max(schedule.warmup_steps, 1)  # the first step with the full rate
    progress = (step - first) / max(steps - first, 1)  # from 0 to 1 at the last step
    share = schedule.final_share
    return full * (share + (1 - share) * (1 + float(cosine_of_turns(progress / 2))) / 2)
