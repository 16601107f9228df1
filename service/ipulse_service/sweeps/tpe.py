"""Proposals of Optuna's tree-structured Parzen estimator, by ask and tell.

Our tables are the truth: a study in memory is made of the trials for each proposal. The same
history and number give the same proposal.
"""

from __future__ import annotations

import importlib.util
import json
import warnings
from collections.abc import Sequence
from typing import Any

from ipulse.sweeps import SweepConfig
from ipulse.sweeps.space import SweepAxis, derived_seed
from ipulse_core.errors import InvalidInput, Problem
from ipulse_service.sweeps.rows import TrialRow, TrialState


class NoSampler(InvalidInput):
    """The method tpe needs Optuna; install ipulse-service[sweeps] where the service runs."""

    code = "no_sampler"


def require_optuna() -> None:
    """Raises NoSampler unless Optuna is installed."""
    if importlib.util.find_spec("optuna") is None:
        detail = (
            "tpe needs Optuna where the service runs: its operator installs "
            "ipulse-service[sweeps]; random needs nothing"
        )
        raise NoSampler([Problem("/method", "no_sampler", detail)])


def propose(config: SweepConfig, number: int, history: Sequence[TrialRow]) -> dict[str, Any]:
    """Returns the parameters of trial `number`, given the trials before it in order."""
    require_optuna()
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    axes = {f"{index}": axis for index, axis in enumerate(config.space.axes)}
    distributions = {name: _distribution(optuna.distributions, axis) for name, axis in axes.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(
            seed=derived_seed(config.seed, number), constant_liar=True
        )
    study = optuna.create_study(direction=config.objective.goal, sampler=sampler)
    for trial in history:
        state = _state(optuna.trial.TrialState, trial)
        if state is None:
            continue
        parameters = json.loads(trial.parameters)
        study.add_trial(
            optuna.trial.create_trial(
                state=state,
                params={name: _coordinate(axis, parameters) for name, axis in axes.items()},
                distributions=distributions,
                value=trial.value if state == optuna.trial.TrialState.COMPLETE else None,
                intermediate_values=(
                    {0: trial.value or 0.0} if trial.state is TrialState.PRUNED else None
                ),
            )
        )
    asked = study.ask(distributions)
    return {
        pointer: value
        for name, axis in axes.items()
        for pointer, value in zip(axis.pointers, _values(axis, asked.params[name]), strict=True)
    }


def _state(states: Any, trial: TrialRow) -> Any:
    """Returns the state of a trial in the study, None for one that says nothing."""
    if trial.state is TrialState.RUNNING:
        return states.RUNNING
    if trial.value is None:
        return None
    return states.PRUNED if trial.state is TrialState.PRUNED else states.COMPLETE


def _distribution(distributions: Any, axis: SweepAxis) -> Any:
    parameter = axis.parameter
    if axis.values or parameter is None:
        # Indices, because Optuna knows neither lists nor objects.
        return distributions.CategoricalDistribution(range(len(axis.values)))
    if parameter.int_uniform is not None:
        low, high = parameter.int_uniform
        high = low + (high - low) // parameter.step * parameter.step
        return distributions.IntDistribution(low, high, step=parameter.step)
    if parameter.log_uniform is not None:
        return distributions.FloatDistribution(*parameter.log_uniform, log=True)
    return distributions.FloatDistribution(*(parameter.uniform or (0.0, 0.0)))


def _coordinate(axis: SweepAxis, parameters: dict[str, Any]) -> Any:
    point = tuple(parameters[pointer] for pointer in axis.pointers)
    if not axis.values:
        return point[0]
    # Compared as JSON, in which true is not 1.
    return [json.dumps(list(value)) for value in axis.values].index(json.dumps(list(point)))


def _values(axis: SweepAxis, coordinate: Any) -> tuple[Any, ...]:
    return axis.values[coordinate] if axis.values else (coordinate,)
