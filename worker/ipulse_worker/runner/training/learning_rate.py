"""The learning rate of each training step."""

from __future__ import annotations

import math

from ipulse.spec import Training


def learning_rate(training: Training, step: int, steps: int) -> float:
    """The rate of update `step`, from 1, of `steps` in all.

    Warm-up multiplies it by step / warmup_steps until it has reached 1. A cosine schedule falls
    from there along half a cosine, to `final_share` of the optimizer's rate at the last step.
    """
    schedule = training.schedule
    full = training.optimizer.learning_rate
    if step < schedule.warmup_steps:
        return full * step / schedule.warmup_steps
    if schedule.shape == "constant":
        return full
    begun = max(schedule.warmup_steps, 1)  # the step that has the full rate
    fallen = (step - begun) / max(steps - begun, 1)  # 0 then, 1 at the last step
    share = schedule.final_share
    return full * (share + (1 - share) * (1 + math.cos(math.pi * fallen)) / 2)
