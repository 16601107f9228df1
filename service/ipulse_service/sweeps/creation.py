"""Creates a sweep after every trial of its grid was checked."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ipulse.models.partial_json import chosen_json
from ipulse.spec import parse_spec
from ipulse.sweeps import SweepConfig
from ipulse.sweeps.config import InvalidSweep
from ipulse_core.errors import InvalidInput, InvalidSpec, Problem
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.jobs import submission
from ipulse_service.jobs.idempotency import Replay, compare, fingerprint_of
from ipulse_service.jobs.submission import ResolvedSpec
from ipulse_service.quotas import store as quotas
from ipulse_service.sweeps import proposals, store
from ipulse_service.sweeps.rows import SweepRow


@dataclass(frozen=True)
class CreatedSweep:
    """A sweep, and whether an earlier request with the same key created it."""

    sweep: SweepRow
    replay: Replay


def create(database: Database, config: SweepConfig, caller: str, key: str | None) -> CreatedSweep:
    """Stores a sweep; its trials begin soon. The same key of a caller returns the same sweep.

    Raises InvalidSweep with the place of every problem, KeyReused, and what `admission.check`
    raises.
    """
    text = config_text(config)
    fingerprint = fingerprint_of(_chosen(config))
    if config.added:
        detail = "write all values into `parameters`; the service keeps here what came later"
        raise InvalidSweep([Problem("/added", "unsupported", detail)])
    specs = check(config)  # outside of the transaction: it takes a while for a large grid
    with database.write() as transaction:
        if key is not None:
            transaction.lock(f"sweep/{caller}/{key}")
            former = store.find_key(transaction, caller, key)
            if former is not None:
                store.get(transaction, former.id)  # the caller may not read it any more
                return CreatedSweep(
                    former, compare(former, fingerprint, "use a new key for another sweep")
                )
        access = transaction.access
        quotas.check_priority(
            transaction, access.project, access.name, config.priority, "/priority"
        )
        check_admission(transaction, specs)
        sweep = store.add(
            transaction,
            text,
            config.sweep,
            fingerprint,
            config.trial_count,
            config.parallel_count,
            caller,
            key,
        )
    return CreatedSweep(sweep, Replay.FIRST)


def _chosen(config: SweepConfig) -> dict[str, Any]:
    """Returns a definition as JSON without defaults, with the order of its parameters."""
    chosen = chosen_json(config)
    with suppress(InvalidSpec):  # its parameters may make it valid
        chosen["spec"] = chosen_json(parse_spec(config.spec))
    return {**chosen, "order": list(config.parameters)}


def check(config: SweepConfig) -> list[ResolvedSpec]:
    """Returns specs of a grid that differ in their needs; of other methods that of the first trial.

    Later proposals of other methods are checked when they are made. Raises InvalidSweep.
    """
    if config.method == "grid":
        problems, specs = proposals.problems_of_grid(config)
        if problems:
            raise InvalidSweep(problems)
        return specs
    parameters = proposals.parameters_of(config, 1)
    try:
        return [proposals.spec_with_checked_seeds(config, parameters)]
    except InvalidSpec as error:
        placed = [
            proposals.placed_problem(config, 1, parameters, problem) for problem in error.problems
        ]
        raise InvalidSweep(placed) from error


def config_text(config: SweepConfig) -> str:
    """Returns a definition as it is stored."""
    # Not sorted: the order of the parameters is that of the axes.
    return json.dumps(config.model_dump(mode="json"), allow_nan=False)


def check_admission(transaction: Transaction, specs: list[ResolvedSpec]) -> None:
    """Raises the error of the first trial that no known agent can run."""
    for resolved in specs:
        try:
            submission.check_admission(transaction, resolved)
        except InvalidInput as error:
            placed = [
                Problem(f"/spec{problem.pointer}", problem.code, problem.detail)
                for problem in error.problems
            ]
            raise type(error)(placed) from error
