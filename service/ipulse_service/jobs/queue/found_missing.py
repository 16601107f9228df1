"""Withdraws what an agent announced and a job did not find there."""

from __future__ import annotations

from dataclasses import replace

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.capabilities import LACKED, TEXTS
from ipulse_core.worker_faults import MAX_MESSAGE
from ipulse_service.agents import registry
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import leases
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow


def withdraw(
    transaction: Transaction, job: JobRow, attempt: AttemptRow, outcome: AttemptOutcome
) -> bool:
    """Withdraws from an agent what an attempt at a job lacked, until the agent has checked it.

    Returns whether the attempt costs the job nothing: it lacked something, and no attempt before it
    lacked the same on the same agent. A job that lacks it again may itself be the reason.
    """
    names = LACKED.get(outcome.reason)
    if names is None:
        return False
    requirements = job.needs.requirements
    agent = registry.find(transaction, attempt.agent)
    if agent is not None:
        lacked = sorted(names & set(requirements.software))
        message = outcome.message or f"a job did not find {TEXTS[lacked[0]]}" if lacked else ""
        is_of_packages = not names  # packages of neurons
        kept = [
            each
            for each in agent.neuron_packages
            if not (is_of_packages and each.package in requirements.neuron_packages)
        ]
        changed = replace(
            agent,
            capabilities={**agent.capabilities, **dict.fromkeys(lacked, False)},
            remarks={**agent.remarks, **dict.fromkeys(lacked, message[:MAX_MESSAGE])},
            neuron_packages=tuple(kept),
        )
        registry.change(transaction, changed)
    former = leases.of_job(transaction, job.pk)
    return not any(
        each.pk != attempt.pk
        and each.agent == attempt.agent
        and each.reason == outcome.reason.value
        for each in former
    )
