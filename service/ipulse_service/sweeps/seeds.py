"""The seeds of which a trial has no job yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ipulse.sweeps import SweepConfig
from ipulse_service.sweeps import trial_end
from ipulse_service.sweeps.rows import SweepRow, SweepState, TrialJob


def missing(sweep: SweepRow, config: SweepConfig, group: Sequence[TrialJob]) -> list[int]:
    """Returns the seeds of which a running trial with these jobs gets a job, in order.

    They begin with the jobs that are repeated.

    With early stopping the first seed runs alone; the others follow if it was not stopped. A sweep
    that stops leaves out seeds that it got after its creation.
    """
    has = {job.seed: job for job in group}
    repeated = [job.seed for job in group if job.repeats]
    left = [seed for seed in config.seeds if seed not in has]
    if not group:  # none could be made when the trial began
        return left if config.stopping is None else left[:1]
    if config.stopping is None:
        return repeated + (left if sweep.state is not SweepState.STOPPING else [])
    first = has.get(config.seeds[0]) if config.seeds else None
    if first is None or first.value is None or first.message == trial_end.PRUNED:
        return repeated
    return repeated + (left if len(group) == 1 or sweep.state is not SweepState.STOPPING else [])


def may_add(sweep: SweepRow, config: SweepConfig, group: Sequence[TrialJob]) -> bool:
    """Returns whether a trial gets further jobs now: a paused sweep adds only those of before."""
    return sweep.state is not SweepState.PAUSED or (config.stopping is not None and len(group) == 1)


def due(sweep: SweepRow, config: SweepConfig, groups: Mapping[int, Sequence[TrialJob]]) -> set[int]:
    """Returns the keys of trials to which jobs of further seeds may be added, or that end."""
    busy = sum(is_open(group) for group in groups.values())
    found = set()
    for key, group in groups.items():
        if not missing(sweep, config, group):
            is_due = not is_open(group)
        else:
            is_due = may_add(sweep, config, group) and (is_open(group) or busy < sweep.parallel)
        if is_due:
            found.add(key)
    return found


def is_open(group: Sequence[TrialJob]) -> bool:
    """Returns whether a job of a trial has not ended."""
    return any(job.state is None for job in group)
