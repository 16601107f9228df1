"""pause and resume."""

from __future__ import annotations

from ipulse.cli.commands.many_jobs import ChosenJobs
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, addressed, with_options


@addressed
@with_options(ChosenJobs)
def pause(chosen: ChosenJobs, at: Address) -> Exit:
    """Pause jobs; a running job writes a checkpoint first."""
    chosen.check()
    with at.connect() as client:
        return chosen.change(client, "paused", client.pause, client.pause_all)


@addressed
@with_options(ChosenJobs)
def resume(chosen: ChosenJobs, at: Address) -> Exit:
    """Resume paused jobs from their last checkpoints."""
    chosen.check()
    with at.connect() as client:
        return chosen.change(client, "resumed", client.resume, client.resume_all)
