"""sweep run, list, show, status, best, pause, resume, stop and extend."""

from __future__ import annotations

import sys
import time
from enum import Enum
from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, Settings, SpecPath, addressed
from ipulse.cli.pages import sweep_address
from ipulse.cli.sweep_reference import SWEEP_HELP, find_sweep
from ipulse.cli.sweep_tables import best_first, setting_text, show_sweep, show_trials
from ipulse.cli.terminal import emit, say, show, show_list
from ipulse.client import Client, SweepStatus
from ipulse.client.sweep_resources import created_at
from ipulse.sweeps.file import read_sweep
from ipulse_core.errors import NotFound

POLL_SECONDS = 1.0

SweepArgument = Annotated[str, typer.Argument(metavar="SWEEP", help=SWEEP_HELP, show_default=False)]


class Method(str, Enum):
    """How trials are chosen."""

    GRID = "grid"
    RANDOM = "random"
    TPE = "tpe"


class Stop(str, Enum):
    """Which rule stops weak trials early."""

    ASHA = "asha"
    MEDIAN = "median"


class Running(str, Enum):
    """What happens to jobs that run when their sweep is stopped."""

    KEEP = "keep"
    FINISH = "finish"
    CANCEL = "cancel"


@addressed
def run_sweep(
    at: Address,
    file: SpecPath,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=V1,V2",
            help="Values of a setting, as YAML, or its distribution, such as "
            "learning_rate=log_uniform:1e-4,0.1. May be repeated.",
        ),
    ] = None,
    settings: Settings = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, max=100, help="Jobs of each trial, which differ in their seed."),
    ] = None,
    method: Annotated[
        Method | None, typer.Option(help="How trials are chosen. [default: grid]")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Number of trials. [default: the whole grid]")
    ] = None,
    parallel: Annotated[
        int | None, typer.Option(min=1, help="Trials at the same time. [default: 4]")
    ] = None,
    stop: Annotated[
        Stop | None, typer.Option(help="Stop weak trials early by this rule. [default: none]")
    ] = None,
    search_seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the search. [default: 1]")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name of the sweep.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What trials are compared by. [default: test_accuracy]"),
    ] = None,
    minimize: Annotated[bool, typer.Option("--minimize", help="Small values are better.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", "-w", help="Follow the sweep to its end.")
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Train one spec with several values of some settings.

    FILE is a spec, or a sweep in YAML. The trials are jobs; their group is the id of the sweep,
    which is printed. With --wait the trials are printed as they end, then a table, the best first.
    """
    objective = {
        **({"metric": metric} if metric else {}),
        **({"goal": "minimize"} if minimize else {}),
    }
    config = read_sweep(
        file,
        settings or [],
        vary or [],
        seeds,
        method=None if method is None else method.value,
        trials=trials,
        parallel=parallel,
        seed=search_seed,
        sweep=name,
        objective=objective or None,
        stopping=None if stop is None else {"kind": stop.value},
    )
    with at.connect() as client:
        sweep = client.create_sweep(config)
        if not as_json:
            show(sweep.id)
            if sys.stderr.isatty():
                say(sweep_address(client, sweep.id))
            jobs = sweep.trials * max(1, len(config.seeds))
            say(f"{sweep.trials:,} trials, {jobs:,} jobs, {sweep.parallel} trials at a time")
        if wait:
            return _follow(client, sweep, as_json)
    if as_json:
        emit(sweep.json)
    elif sys.stderr.isatty():
        say(f"Follow it: `ipulse sweep show {sweep.id[4:12]}`")
    return Exit.OK


@addressed
def list_sweeps(
    at: Address,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Number of sweeps, at most.")] = 20,
    as_json: AsJSON = False,
) -> Exit:
    """List the latest sweeps, newest first."""
    with at.connect() as client:
        sweeps = client.sweeps(limit)
    rows = [
        (
            sweep.id,
            sweep.name,
            sweep.state,
            f"{sum(n for s, n in sweep.by_state.items() if s != 'running'):,}/{sweep.trials:,}",
            created_at(sweep),
            f"{sweep.best['value']:.4g}" if sweep.best else "",
        )
        for sweep in sweeps
    ]
    headers = ["ID", "NAME", "STATE", "ENDED", "CREATED", "BEST"]
    show_list("sweeps", [sweep.json for sweep in sweeps], headers, rows, as_json)
    return Exit.OK


@addressed
def show_one(at: Address, sweep: SweepArgument, as_json: AsJSON = False) -> Exit:
    """Show a sweep and all its trials, the best first.

    With --json one object is printed: the sweep, and its list `trial_list`.
    """
    with at.connect() as client:
        return _show(client, find_sweep(client, sweep), as_json)


@addressed
def sweep_status(at: Address, sweep: SweepArgument, as_json: AsJSON = False) -> Exit:
    """Show the state of a sweep and its best trial so far."""
    with at.connect() as client:
        return _print(client.sweep(find_sweep(client, sweep)), as_json)


@addressed
def best_of_sweep(at: Address, sweep: SweepArgument, as_json: AsJSON = False) -> Exit:
    """Show the best trial of a sweep: its settings, its value and its jobs."""
    with at.connect() as client:
        found = client.sweep(find_sweep(client, sweep))
        if found.best is None:
            raise NotFound("no trial of this sweep has succeeded yet")
        number = found.best["number"]
        (trial,) = [t for t in client.sweep_trials(found.id) if t.number == number]
    if as_json:
        emit(trial.json)
    else:
        show_trials(found, [trial])
        say(f"The best: {setting_text(trial.parameters)}")
    return Exit.OK


@addressed
def pause_sweep(at: Address, sweep: SweepArgument, as_json: AsJSON = False) -> Exit:
    """Begin no more trials for now; those that have begun go on."""
    with at.connect() as client:
        return _print(client.pause_sweep(find_sweep(client, sweep)), as_json)


@addressed
def resume_sweep(at: Address, sweep: SweepArgument, as_json: AsJSON = False) -> Exit:
    """Begin trials of a paused sweep again."""
    with at.connect() as client:
        return _print(client.resume_sweep(find_sweep(client, sweep)), as_json)


@addressed
def stop_sweep(
    at: Address,
    sweep: SweepArgument,
    running: Annotated[
        Running,
        typer.Option(
            help="Jobs that run: keep them to their end, finish them now with their results, or "
            "cancel them."
        ),
    ] = Running.KEEP,
    as_json: AsJSON = False,
) -> Exit:
    """Begin no more trials, and cancel those that wait."""
    with at.connect() as client:
        return _print(client.stop_sweep(find_sweep(client, sweep), running.value), as_json)


@addressed
def extend_sweep(
    at: Address,
    sweep: SweepArgument,
    trials: Annotated[int | None, typer.Option(min=1, help="Number of trials in all.")] = None,
    parallel: Annotated[int | None, typer.Option(min=1, help="Trials at the same time.")] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Change the number of trials; a sweep that has ended goes on."""
    with at.connect() as client:
        changed = client.change_sweep(find_sweep(client, sweep), trials, parallel)
    return _print(changed, as_json)


def _follow(client: Client, sweep: SweepStatus, as_json: bool) -> Exit:
    """Report trials as they end; return once the sweep has ended."""
    reported: set[int] = set()
    while True:
        sweep = client.sweep(sweep.id)  # before the trials, so that none is missed at the end
        for trial in client.sweep_trials(sweep.id):
            if trial.state != "running" and trial.number not in reported:
                reported.add(trial.number)
                value = trial.state if trial.value is None else f"{sweep.metric} {trial.value:.4g}"
                say(f"trial {trial.number}: {setting_text(trial.parameters)}: {value}")
        if sweep.has_ended:
            break
        time.sleep(POLL_SECONDS)
    _show(client, sweep.id, as_json)
    return Exit.OK if sweep.best else Exit.JOB_FAILED


def _show(client: Client, sweep_id: str, as_json: bool) -> Exit:
    sweep = client.sweep(sweep_id)
    trials = best_first(sweep, client.sweep_trials(sweep_id))
    if as_json:
        emit({**sweep.json, "trial_list": [trial.json for trial in trials]})
        return Exit.OK
    show_sweep(sweep)
    show_trials(sweep, trials)
    for trial in trials:
        if trial.message:
            say(f"trial {trial.number}: {trial.message}")
    return Exit.OK


def _print(sweep: SweepStatus, as_json: bool) -> Exit:
    if as_json:
        emit(sweep.json)
    else:
        show_sweep(sweep)
    return Exit.OK
