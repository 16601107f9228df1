"""The parameters of a sweep's trials, and the specs of their jobs.

Those of a grid and of random draws depend on the number of the trial only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from ipulse.spec import parse_spec
from ipulse.spec.field_tree import in_version_of
from ipulse.spec.field_tree import pointer as pointer_of
from ipulse.sweeps import SweepConfig, with_settings_at
from ipulse_core import strict_json
from ipulse_core.errors import InvalidSpec, Problem
from ipulse_service.agents.needs import Needs
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import submission
from ipulse_service.jobs.submission import ResolvedSpec
from ipulse_service.ops import in_specs
from ipulse_service.sweeps import tpe, trial_store
from ipulse_service.sweeps.rows import Proposal, SweepRow, TrialState

MAX_PROBLEMS = 20
MAX_SWEEP_NAME = 120  # characters in the name of a job, which has 128
# A grid is checked before it begins: trials up to so many bytes of specs, in seconds. Later trials
# are checked when they begin, as those of other methods.
CHECKED_BYTES = 32 * 2**20
# Specs whose admission is checked, so that the transaction is short and the memory small.
MAX_ADMISSIONS, ADMISSION_BYTES = 200, 2**22


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


def specs_of(
    config: SweepConfig,
    parameters: dict[str, Any],
    seeds: Sequence[int] = (),
    most_bytes: int = 0,
    number: int | None = None,
) -> dict[int, ResolvedSpec]:
    """Returns the specs of a trial's jobs by their seeds, which alone differ.

    Args:
        config: The definition of the sweep.
        parameters: Values by pointer.
        seeds: Those of the jobs; empty: all of the sweep's, or the spec's.
        most_bytes: No more specs follow after so many bytes of them; 0: all.
        number: Of the trial, which names its jobs after the sweep; None: they have the spec's name.

    Raises:
        InvalidSpec: The parameters do not fit the spec.
    """
    document = with_settings_at(config.spec, parameters)
    if number is not None:
        document = {**document, "name": f"{config.sweep[:MAX_SWEEP_NAME]} {number}"}
    specs: dict[int, ResolvedSpec] = {}
    size = 0
    for changes in [{"seed": seed} for seed in seeds or config.seeds] or [{}]:
        spec = parse_spec({**document, **changes})
        specs[spec.seed] = submission.resolve(spec)
        size += len(specs[spec.seed].text)
        if 0 < most_bytes <= size:
            break
    return specs


def spec_with_checked_seeds(config: SweepConfig, parameters: dict[str, Any]) -> ResolvedSpec:
    """Returns the spec of the first seed of a trial. Raises InvalidSpec, also for other seeds."""
    if config.seeds:  # one spec at a time, for it may be large; smaller seeds fit if this one does
        specs_of(config, parameters, [max(config.seeds)])
    [resolved] = specs_of(config, parameters, config.seeds[:1]).values()
    return resolved


def problems_of_grid(
    config: SweepConfig, first: int = 1
) -> tuple[list[Problem], list[ResolvedSpec]]:
    """Checks the trials of a grid from a number on, as many as CHECKED_BYTES allows.

    Returns the problems, at most MAX_PROBLEMS different ones, and the first specs that differ in
    what their admission depends on.
    """
    found: dict[tuple[str, str], Problem] = {}
    different: dict[str, ResolvedSpec] = {}
    checked = kept = 0
    for number in range(first, config.trial_count + 1):
        parameters = parameters_of(config, number)
        try:
            if number == first:
                resolved = spec_with_checked_seeds(config, parameters)
            else:
                [resolved] = specs_of(config, parameters, config.seeds[:1]).values()
        except InvalidSpec as error:
            for problem in error.problems:
                placed = placed_problem(config, number, parameters, problem)
                found.setdefault((placed.pointer, problem.detail), placed)
            if len(found) >= MAX_PROBLEMS:
                break
            continue
        key = _admission_key(resolved)
        if key not in different and len(different) < MAX_ADMISSIONS and kept < ADMISSION_BYTES:
            different[key] = resolved
            kept += len(resolved.text)
        checked += len(resolved.text)
        if checked > CHECKED_BYTES:
            break
    return list(found.values()), list(different.values())


def _admission_key(resolved: ResolvedSpec) -> str:
    """Returns a digest of the parts of a spec that its admission depends on."""
    needs = Needs.of_spec(resolved.spec)
    needs_network = in_specs.names_op(resolved.spec) or needs.requirements.neuron_packages
    parts = ["data", *(["network"] if needs_network else [])]
    text = strict_json.dumps([needs, *(resolved.value[part] for part in parts)])
    return hashlib.sha256(text.encode()).hexdigest()


def placed_problem(
    config: SweepConfig, number: int, parameters: dict[str, Any], problem: Problem
) -> Problem:
    """Returns a problem of a trial's spec with its place in the definition of the sweep."""
    values = ", ".join(
        f"{pointer} = {strict_json.dumps(value)[:60]}" for pointer, value in parameters.items()
    )
    detail = f"in trial {number:,} ({values}): {problem.pointer}: {problem.detail}"
    for pointer in parameters:
        written = pointer_of(in_version_of(config.spec, strict_json.pointer_keys(pointer)))
        if problem.pointer == written or problem.pointer.startswith(f"{written}/"):
            if pointer in config.parameters:
                place = f"/parameters/{strict_json.escape(pointer)}"
            else:
                place = "/together"
            return Problem(place, problem.code, detail)
    return Problem(f"/spec{problem.pointer}", problem.code, detail)
