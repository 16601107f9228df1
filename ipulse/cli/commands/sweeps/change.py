"""sweep pause, resume, stop and extend."""

from __future__ import annotations

from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, addressed
from ipulse.cli.sweep_reference import SweepId, find_sweep
from ipulse.sweeps import RunningJobs

from .show import print_sweep


@addressed
def pause_sweep(at: Address, sweep: SweepId, as_json: AsJSON = False) -> Exit:
    """Begin no more trials for now; those that have begun go on."""
    with at.connect() as client:
        return print_sweep(client.pause_sweep(find_sweep(client, sweep)), as_json)


@addressed
def resume_sweep(at: Address, sweep: SweepId, as_json: AsJSON = False) -> Exit:
    """Begin trials of a paused sweep again."""
    with at.connect() as client:
        return print_sweep(client.resume_sweep(find_sweep(client, sweep)), as_json)


@addressed
def stop_sweep(
    at: Address,
    sweep: SweepId,
    running: Annotated[
        RunningJobs,
        typer.Option(
            help="Jobs that run: keep them to their end, finish them now with their results, or "
            "cancel them."
        ),
    ] = "keep",
    as_json: AsJSON = False,
) -> Exit:
    """Begin no more trials, and cancel those that wait."""
    with at.connect() as client:
        return print_sweep(client.stop_sweep(find_sweep(client, sweep), running), as_json)


@addressed
def extend_sweep(
    at: Address,
    sweep: SweepId,
    trials: Annotated[int | None, typer.Option(min=1, help="Number of trials in all.")] = None,
    parallel: Annotated[int | None, typer.Option(min=1, help="Trials at the same time.")] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Change the number of trials; a sweep that has ended goes on."""
    with at.connect() as client:
        changed = client.change_sweep(find_sweep(client, sweep), trials, parallel)
    return print_sweep(changed, as_json)
