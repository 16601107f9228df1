"""The plan of a sweep: how many jobs, how much device time, and when the first one would start."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from ipulse.sweeps import SweepConfig
from ipulse_core.errors import InvalidSpec
from ipulse_service.agents.needs import Needs
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs.queue import executables
from ipulse_service.jobs.queue.durations import Expected, expected
from ipulse_service.jobs.queue.waiting import JobPlan, QueueView
from ipulse_service.jobs.queue.work import work_of
from ipulse_service.sweeps import creation, proposals

SAMPLED = 32  # trials of which the work is looked at


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep would do. Times are milliseconds."""

    trials: int
    jobs: int
    parallel: int  # jobs at the same time, as far as agents can run them
    first: JobPlan  # of the job of the first trial
    of_job: Expected | None  # the mean over the jobs
    is_cached: bool | None  # the program of the first one, on a machine that can run it

    @property
    def rounds(self) -> float:
        """How many times the time of a job all jobs take on so many agents."""
        return self.jobs / self.parallel


def plan(transaction: Transaction, view: QueueView, config: SweepConfig) -> SweepPlan:
    """Checks a definition as its creation does, and returns its plan; stores nothing.

    Raises InvalidSweep, and what `creation.check_admission` raises.
    """
    checked = creation.check(config)
    creation.check_admission(transaction, checked)
    seeds = max(1, len(config.seeds))
    count = config.trial_count
    found: list[Expected] = []
    is_known = True
    step = max(1, count // SAMPLED)
    # Later trials of other methods follow from the results of those before.
    numbers = [1] if config.method == "tpe" else list(range(1, count + 1, step))[:SAMPLED]
    first, is_cached = None, None
    for number in numbers:
        try:
            specs = proposals.specs_of(
                config, proposals.parameters_of(config, number), config.seeds[:1]
            )
        except InvalidSpec:  # a trial of a random search that will fail
            continue
        [resolved] = specs.values()
        needs, work = Needs.of_spec(resolved.spec), work_of(resolved.spec)
        if first is None:
            first = view.plan(transaction, needs, config.priority, work)
            is_cached = executables.is_cached(transaction, resolved.value, needs)
        each = expected(transaction, needs, work)
        is_known = is_known and each is not None
        if each is not None:
            found.append(each)
    if first is None:
        resolved = checked[0]
        first = view.plan(transaction, Needs.of_spec(resolved.spec), config.priority)
    jobs = count * seeds
    parallel = max(1, min(jobs, config.parallel_count * seeds, first.able or 1))
    of_job = _mean(found) if found and is_known else None
    return SweepPlan(count, jobs, parallel, first, of_job, is_cached)


def _mean(found: list[Expected]) -> Expected:
    return Expected(
        fmean(each.ms for each in found),
        fmean(each.least_ms for each in found),
        fmean(each.most_ms for each in found),
        "work" if any(each.basis == "work" for each in found) else "like_jobs",
        min(each.jobs for each in found),
    )
