"""The parameters of a sweep's trials, and the specs of their jobs.

Those of a grid and of random draws depend on the number of the trial only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ipulse.spec import parse_spec
from ipulse.sweeps import SweepConfig, with_settings_at
from ipulse_core import strict_json
from ipulse_core.errors import InvalidSpec, Problem
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import submission
from ipulse_service.jobs.submission import ResolvedSpec
from ipulse_service.sweeps import tpe, trial_store
from ipulse_service.sweeps.rows import Proposal, SweepRow, TrialState

MAX_PROBLEMS = 20


def propose(transaction: Transaction, sweep: SweepRow) -> Callable[[], Proposal]:
    """Returns a function that makes the proposal of the next trial, without the transaction."""
    config, number = sweep.definition, sweep.next_trial
    if config.method != "tpe":
        return lambda: Proposal(number, parameters_of(config, number))
    history = trial_store.trials(transaction, sweep)
    ended = tuple(trial.number for trial in history if trial.state is not TrialState.RUNNING)
    return lambda: Proposal(number, tpe.propose(config, number, history), ended)


def parameters_of(config: SweepConfig, number: int) -> dict[str, Any]:
    """Returns the parameters of trial `number`, from 1; the same whenever it is asked for."""
    if config.method == "tpe":
        return tpe.propose(config, number, ())
    if config.method == "random":
        return config.space.random_point(config.seed, number)
    space, index = config.space, number - 1
    return space.grid_point(space.grid_order(config.seed)[index] if config.shuffle else index)


def specs_of(config: SweepConfig, parameters: dict[str, Any]) -> dict[int, ResolvedSpec]:
    """Returns the specs of a trial's jobs by their seeds, which alone differ.

    Raises:
        InvalidSpec: The parameters do not fit the spec.
    """
    document = with_settings_at(config.spec, parameters)
    documents = [{**document, "seed": seed} for seed in config.seeds] or [document]
    specs = [parse_spec(each) for each in documents]
    return {spec.seed: submission.resolve(spec) for spec in specs}


def problems_of_grid(
    config: SweepConfig, first: int = 1
) -> tuple[list[Problem], list[ResolvedSpec]]:
    """Checks every trial of a grid from a number on.

    Returns the problems, at most MAX_PROBLEMS different ones, and one spec of each trial.
    """
    found: dict[tuple[str, str], Problem] = {}
    resolved: list[ResolvedSpec] = []
    for number in range(first, config.trial_count + 1):
        parameters = parameters_of(config, number)
        try:
            resolved.append(next(iter(specs_of(config, parameters).values())))
        except InvalidSpec as error:
            for problem in error.problems:
                placed = placed_problem(config, number, parameters, problem)
                found.setdefault((placed.pointer, problem.detail), placed)
            if len(found) >= MAX_PROBLEMS:
                break
    return list(found.values()), resolved


def placed_problem(
    config: SweepConfig, number: int, parameters: dict[str, Any], problem: Problem
) -> Problem:
    """Returns a problem of a trial's spec with its place in the definition of the sweep."""
    values = ", ".join(
        f"{pointer} = {strict_json.dumps(value)[:60]}" for pointer, value in parameters.items()
    )
    detail = f"in trial {number:,} ({values}): {problem.pointer}: {problem.detail}"
    for pointer in parameters:
        if problem.pointer == pointer or problem.pointer.startswith(f"{pointer}/"):
            if pointer in config.parameters:
                place = f"/parameters/{strict_json.escape(pointer)}"
            else:
                place = "/together"
            return Problem(place, problem.code, detail)
    return Problem(f"/spec{problem.pointer}", problem.code, detail)
