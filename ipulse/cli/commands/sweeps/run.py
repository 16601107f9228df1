"""sweep run."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Literal

import typer

from ipulse.cli.completing import complete_setting
from ipulse.cli.display.figures import figure
from ipulse.cli.display.sweep_tables import setting_text
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, Settings, SpecPath, addressed
from ipulse.cli.terminal import emit, say, show
from ipulse.client import SweepHandle
from ipulse.sweeps import SweepMethod
from ipulse.sweeps.file import read_sweep
from ipulse_core.ids import short_id

from .show import show_with_trials

POLL_SECONDS = 1.0


@addressed
def run_sweep(
    at: Address,
    file: SpecPath,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=V1,V2",
            autocompletion=complete_setting,
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
        SweepMethod | None, typer.Option(help="How trials are chosen. [default: grid]")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Number of trials. [default: the whole grid]")
    ] = None,
    parallel: Annotated[
        int | None, typer.Option(min=1, help="Trials at the same time. [default: 4]")
    ] = None,
    stop: Annotated[
        Literal["asha", "median"] | None,
        typer.Option(help="Stop weak trials early by this rule. [default: none]"),
    ] = None,
    search_seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the search. [default: 1]")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name of the sweep.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What trials are compared by. [default: validation_accuracy with "
            "data.validation, else test_accuracy]",
        ),
    ] = None,
    minimize: Annotated[
        bool | None,
        typer.Option(
            "--minimize/--maximize",
            help="Which values are better. [default: as the metric needs: losses are minimized]",
            show_default=False,
        ),
    ] = None,
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
        **({} if minimize is None else {"goal": "minimize" if minimize else "maximize"}),
    }
    config = read_sweep(
        file,
        settings or [],
        vary or [],
        seeds,
        method=method,
        trials=trials,
        parallel=parallel,
        seed=search_seed,
        sweep=name,
        objective=objective or None,
        stopping=None if stop is None else {"kind": stop},
    )
    with at.connect() as connection:
        sweep = connection.create_sweep(config)
        if not as_json:
            show(sweep.id)
            if sys.stderr.isatty():
                say(sweep.url)
            status = sweep.status
            jobs = status.trials * max(1, len(config.seeds))
            trials_text = f"{status.trials:,} {'trial' if status.trials == 1 else 'trials'}"
            say(f"{trials_text}, {jobs:,} jobs, {status.parallel} at a time")
        if wait:
            return _follow(sweep, as_json)
    if as_json:
        emit(sweep.json)
    elif sys.stderr.isatty():
        say(f"Follow it: `ipulse sweep show {short_id(sweep.id)}`")
    return Exit.OK


def _follow(sweep: SweepHandle, as_json: bool) -> Exit:
    """Report trials as they end; return once the sweep has ended."""
    reported: set[int] = set()
    while True:
        status = sweep.refresh().status  # before the trials, so that none is missed at the end
        for trial in sweep.trials():
            if trial.state != "running" and trial.number not in reported:
                reported.add(trial.number)
                value = trial.state
                if trial.value is not None:
                    value = f"{status.metric} {figure(status.metric, trial.value)}"
                say(f"trial {trial.number}: {setting_text(trial.parameters)}: {value}")
        if status.has_ended:
            break
        time.sleep(POLL_SECONDS)
    show_with_trials(sweep, as_json)
    return Exit.OK if status.best else Exit.JOB_FAILED
