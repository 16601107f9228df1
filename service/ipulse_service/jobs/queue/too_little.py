"""Notes at a job what was not enough for it on a worker, so that it runs where there is more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ipulse_core.capabilities import TOTALS
from ipulse_service.agents import registry
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import store
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow
from ipulse_service.jobs.queue import admission


def note(
    transaction: Transaction, job: JobRow, attempt: AttemptRow, lacking: Mapping[str, int]
) -> JobRow:
    """Stores at a job what was not enough for it; the greatest amount that was tried counts.

    The attempt's agent has no more than that until it announces its room again: what it announced
    before may be from a time when its disk was empty.
    """
    requirements = job.needs.requirements
    known = requirements.too_little
    more = {name: amount for name, amount in lacking.items() if name in TOTALS}
    agent = registry.find(transaction, attempt.agent) if more else None
    if agent is not None:
        had = {
            name: min(int(agent.capabilities[name]), amount)
            for name, amount in more.items()
            if name in agent.capabilities
        }
        changed = replace(agent, capabilities={**agent.capabilities, **had})
        registry.change(transaction, changed)
    merged = {name: max(known.get(name, 0), amount) for name, amount in more.items()}
    if not merged or merged.items() <= known.items():
        return job
    needed = replace(requirements, too_little={**known, **merged})
    return store.update(transaction, job, job._replace(requires=needed.to_text()))


def forgotten(job: JobRow) -> str | None:
    """Returns the requirements of a job without what was not enough for it."""
    return replace(job.needs.requirements, too_little={}).to_text()


def why_hopeless(transaction: Transaction, job: JobRow) -> str:
    """Returns a sentence if no known worker would have enough for a job, else an empty text.

    One with a larger disk counts, however full it is now: the job waits for it.
    """
    needs = job.needs
    if not needs.requirements.too_little:
        return ""
    known = admission.without_replaced(registry.known(transaction), transaction.now)
    suited = [agent for agent in known if agent.is_suited(needs)]
    if any(agent.may_have_more(needs) for agent in suited):
        return ""
    has = admission.amounts(suited, needs)
    return (
        f"The job needs {admission.too_little_text(needs)}, more than any worker has that it can "
        f"run on ({has}): free the disk of a worker, or start one with more, and retry the job."
    )
