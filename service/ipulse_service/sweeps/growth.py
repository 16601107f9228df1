"""Gives a sweep more values of its grid, more seeds of each trial, or other limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ipulse.sweeps import SweepConfig, SweepLimits, parse_sweep
from ipulse.sweeps.config import InvalidSweep
from ipulse_core import strict_json
from ipulse_core.errors import Conflict, InvalidInput, InvalidSpec, Problem
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.jobs.submission import ResolvedSpec
from ipulse_service.sweeps import creation, proposals, store, trial_store
from ipulse_service.sweeps.rows import SweepRow, SweepState


class SweepGrowth:
    """A larger definition of a sweep with checked new trials."""

    def __init__(
        self,
        before: SweepRow,
        values: Mapping[str, Sequence[Any]],
        seeds: Sequence[int],
        limits: SweepLimits | None = None,
    ) -> None:
        """Checks what is new, which takes a while for a large grid.

        Raises InvalidInput with the place of every problem.
        """
        self._before = before
        former = before.definition
        if values and former.method != "grid":
            detail = f"only a grid has values; the method of this sweep is {former.method}"
            raise InvalidInput([Problem("/values", "unsupported", detail)])
        if values and before.trials < former.space.grid_size:
            detail = (
                f"the sweep has {before.trials:,} of the {former.space.grid_size:,} points of its "
                "grid: ask for all of them first"
            )
            raise InvalidInput([Problem("/values", "inconsistent", detail)])
        self._config = _grown(former, values, seeds, limits)
        self._specs = _checked(self._config, before.trials + 1) if values else []
        if seeds and not values:
            self._specs = _with_seeds(self._config)
        self._adds_seeds = bool(seeds)
        self._adds_jobs = bool(seeds or values)
        self._trials = self._config.space.grid_size if values else before.trials

    @classmethod
    def of(
        cls,
        database: Database,
        sweep_id: str,
        values: Mapping[str, Sequence[Any]],
        seeds: Sequence[int],
        limits: SweepLimits | None,
    ) -> SweepGrowth:
        """Reads a sweep and checks what it shall get. Raises NotFound and InvalidInput."""
        with database.read() as transaction:
            sweep = store.get(transaction, sweep_id)
        return cls(sweep, values, seeds, limits)

    def apply(self, transaction: Transaction, sweep: SweepRow) -> SweepRow:
        """Stores the larger definition of a locked sweep; one that has ended continues.

        Trials that have succeeded run again until they have a job of each new seed. Raises Conflict
        if the sweep stops, or its definition changed meanwhile.
        """
        if sweep.state is SweepState.STOPPING:
            raise Conflict("the sweep stops: extend it when it has ended")
        if (sweep.config, sweep.trials) != (self._before.config, self._before.trials):
            raise Conflict("the sweep was extended at the same moment; try again")
        creation.check_admission(transaction, self._specs)
        if self._adds_seeds:
            trial_store.reopen(transaction, sweep)
        columns: dict[str, object] = {
            "config": creation.config_text(self._config),
            "trials": self._trials,
        }
        if sweep.state is SweepState.ENDED and self._adds_jobs:
            columns |= store.continued(transaction)
        return store.change(transaction, sweep, **columns)


def _grown(
    former: SweepConfig,
    values: Mapping[str, Sequence[Any]],
    seeds: Sequence[int],
    limits: SweepLimits | None,
) -> SweepConfig:
    """Returns the definition with more values and seeds. Raises InvalidInput."""
    document = former.model_dump(mode="json")
    if limits is not None:
        document["limits"] = limits.model_dump(mode="json")
    for pointer, added in values.items():
        if pointer not in former.parameters:
            known = ", ".join(former.parameters) or "none"
            place = f"/values/{strict_json.escape(pointer)}"
            detail = f"the sweep does not vary this setting on its own; it varies {known}"
            raise InvalidInput([Problem(place, "unknown_field", detail)])
        document["parameters"][pointer]["values"] += added
        document["added"].append({"parameter": pointer, "count": len(added)})
    if seeds:
        document["seeds"] = [*former.all_seeds, *seeds]
    if values:
        document["trials"] = None
    try:
        return parse_sweep(document)
    except InvalidSweep as error:
        raise InvalidInput([_placed(problem, former) for problem in error.problems]) from error


def _placed(problem: Problem, former: SweepConfig) -> Problem:
    """Returns a problem of the larger definition with its place in the request."""
    keys = strict_json.pointer_keys(problem.pointer)
    begin = 0
    if keys[0] == "seeds" and len(keys) == 2:
        place, begin = "/seeds", max(1, len(former.seeds))
    elif keys[:1] == ["parameters"] and len(keys) == 4:
        place = f"/values/{strict_json.escape(keys[1])}"
        begin = len(former.parameters[keys[1]].values or ())
    else:
        return Problem("/values", problem.code, problem.detail)
    return Problem(f"{place}/{int(keys[-1]) - begin}", problem.code, problem.detail)


def _with_seeds(config: SweepConfig) -> list[ResolvedSpec]:
    """Returns a spec of the first trial. Raises InvalidInput for a seed that is none."""
    try:
        return [proposals.spec_with_checked_seeds(config, proposals.parameters_of(config, 1))]
    except InvalidSpec as error:
        problems = [Problem("/seeds", each.code, each.detail) for each in error.problems]
        raise InvalidInput(problems) from error


def _checked(config: SweepConfig, first: int) -> list[ResolvedSpec]:
    """Returns specs of the trials from a number on that differ in their needs.

    Raises InvalidInput.
    """
    problems, specs = proposals.problems_of_grid(config, first)
    if problems:
        placed = [
            Problem(each.pointer.replace("/parameters", "/values", 1), each.code, each.detail)
            for each in problems
        ]
        raise InvalidInput(placed)
    return specs
