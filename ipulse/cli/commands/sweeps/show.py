"""sweep list, show, status and best."""

from __future__ import annotations

from typing import Annotated

import typer

from ipulse.cli.display.figures import figure
from ipulse.cli.display.sweep_tables import best_first, setting_text, show_sweep, show_trials
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, Wide, addressed
from ipulse.cli.sweep_reference import SweepId, find_newest_sweep
from ipulse.cli.tables import show_list
from ipulse.cli.terminal import emit, say, second_text
from ipulse.client import SweepHandle
from ipulse.times import time_of
from ipulse_core.errors import NotFound
from ipulse_core.ids import short_id


@addressed
def list_sweeps(
    at: Address,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Number of sweeps, at most.")] = 20,
    wide: Wide = False,
    as_json: AsJSON = False,
) -> Exit:
    """List the latest sweeps, newest first."""
    with at.connect() as connection:
        sweeps = [sweep.status for sweep in connection.sweeps(limit)]
    rows = [
        (
            sweep.id,
            sweep.name,
            sweep.state,
            f"{sum(n for s, n in sweep.by_state.items() if s != 'running'):,}/{sweep.trials:,}",
            second_text(time_of(sweep.json["created_at"])),
            figure(sweep.metric, sweep.best["value"]) if sweep.best else "",
        )
        for sweep in sweeps
    ]
    headers = ["ID", "NAME", "STATE", "ENDED", "CREATED", "BEST"]
    show_list("sweeps", [sweep.json for sweep in sweeps], headers, rows, as_json, wide)
    return Exit.OK


@addressed
def show_one(at: Address, sweep: SweepId, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """Show a sweep and all its trials, the best first.

    With --json one object is printed: the sweep, and its list `trial_list`.
    """
    with at.connect() as connection:
        return show_with_trials(find_newest_sweep(connection, sweep), as_json, wide)


@addressed
def sweep_status(at: Address, sweep: SweepId, as_json: AsJSON = False) -> Exit:
    """Show the state of a sweep and its best trial so far."""
    with at.connect() as connection:
        return print_sweep(find_newest_sweep(connection, sweep), as_json)


@addressed
def best_of_sweep(at: Address, sweep: SweepId, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """Show the best trial of a sweep: its settings, its value and its jobs."""
    with at.connect() as connection:
        found = find_newest_sweep(connection, sweep)
        trial = found.best()
        if trial is None:
            raise NotFound("no trial of this sweep has succeeded yet")
    if as_json:
        emit(trial.json)
    else:
        show_trials(found.status, [trial], wide)
        say(f"The best: {setting_text(trial.parameters)}")
    return Exit.OK


def show_with_trials(found: SweepHandle, as_json: bool, wide: bool = False) -> Exit:
    """Print a sweep and all its trials."""
    sweep = found.refresh().status
    trials = best_first(sweep, found.trials())
    if as_json:
        emit({**sweep.json, "trial_list": [trial.json for trial in trials]})
        return Exit.OK
    show_sweep(sweep)
    show_trials(sweep, trials, wide)
    for trial in trials:
        if trial.message:
            say(f"trial {trial.number}: {trial.message}")
    marked = [str(trial.number) for trial in trials if trial.has_deleted_jobs]
    if marked:
        say(
            f"Jobs of these trials are deleted: {', '.join(marked)}. `ipulse sweep retry "
            f"{short_id(sweep.id)} --deleted` repeats them."
        )
    return Exit.OK


def print_sweep(sweep: SweepHandle, as_json: bool) -> Exit:
    """Print a sweep without its trials."""
    if as_json:
        emit(sweep.json)
    else:
        show_sweep(sweep.status)
    return Exit.OK
