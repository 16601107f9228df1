"""The definition of a sweep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, model_validator

from ipulse.models import ByKind, Field, Integer, ListOf, StrictModel, Text, validate
from ipulse.spec.rules.data import regresses
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.limits import HIGHEST_PRIORITY, LOWEST_PRIORITY
from ipulse_core.spec.upgrade import has_validation

from .objective import SweepLimits, SweepObjective
from .parameters import AddedValues, SweepParameter, TogetherAxis, repeated
from .space import SearchSpace, replica_seeds
from .stopping import SweepStopping

MAX_TRIALS = 10_000
MAX_PARAMETERS = 64
PARALLEL = 4
VALIDATION = "/data/validation"  # the setting that holds out samples to choose with

SweepMethod = Literal["grid", "random", "tpe"]
RunningJobs = Literal["keep", "finish", "cancel"]  # what happens to them when a sweep is stopped

# They do not change what is trained, or the sweep sets them itself.
_FIXED = ("version", "name", "metadata")


EXAMPLE: dict[str, Any] = {
    "version": 1,
    "sweep": "digits-rate",
    "spec": {"version": 1, "data": {"kind": "digits"}, "network": {"layers": [{"neurons": 64}]}},
    "parameters": {"/training/optimizer/learning_rate": {"values": [0.001, 0.003, 0.01]}},
    "together": [],
    "method": "grid",
    "trials": None,
    "parallel": 3,
    "seed": 1,
    "shuffle": False,
    "seeds": [1, 2, 3],
    "objective": {"metric": "test_accuracy", "goal": "maximize", "at": "last"},
    "stopping": {"kind": "asha", "min_epochs": 1, "factor": 3},
    "limits": {"run_seconds": None, "device_hours": None, "target": None},
    "added": [],
    "priority": 0,
}


class InvalidSweep(InvalidInput):
    """The sweep is not valid."""

    code = "invalid_sweep"


class SweepConfig(StrictModel):
    """The definition of a sweep: a spec, the settings that vary, and how trials are chosen."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    version: Literal[1] = Field(default=1, description="Version of this form.")
    sweep: Annotated[Text, Field(min_length=1, max_length=128)] = Field(
        description="Name of the sweep."
    )
    spec: dict[str, Any] = Field(description="The spec of every trial, as a job has it.")
    parameters: dict[str, SweepParameter] = Field(
        default={},
        max_length=MAX_PARAMETERS,
        description="The values of each setting that varies, by its JSON pointer into the spec, "
        "such as /training/optimizer/learning_rate.",
    )
    together: Annotated[ListOf[TogetherAxis], Field(max_length=16)] = Field(
        default=(), description="Settings that change together."
    )
    method: SweepMethod = Field(
        default="grid",
        description="grid: every combination of the values, the last parameter first; random: "
        "independent draws; tpe: draws near the best trials so far, by a tree-structured Parzen "
        "estimator.",
    )
    trials: Annotated[Integer, Field(ge=1, le=MAX_TRIALS)] | None = Field(
        default=None,
        description="Number of trials; null for a grid: all its points.",
    )
    parallel: Annotated[Integer, Field(ge=1, le=1000)] | None = Field(
        default=None, description=f"Trials at the same time; null: {PARALLEL}, or all if fewer."
    )
    seed: Annotated[Integer, Field(ge=0)] = Field(
        default=1, description="Seed of the search; the same seed gives the same trials."
    )
    shuffle: bool = Field(default=False, description="Visit a grid in a random order, by `seed`.")
    seeds: Annotated[ListOf[Annotated[Integer, Field(ge=0)]], Field(max_length=100)] = Field(
        default=(),
        description="Seeds of the replicas of each trial, which differ in /seed only; empty: one "
        "job with the seed of the spec.",
    )
    objective: SweepObjective = Field(
        default=SweepObjective(), description="The figure by which trials are compared."
    )
    stopping: Annotated[SweepStopping, ByKind()] | None = Field(
        default=None, description="Which trials are stopped early; null: none."
    )
    limits: SweepLimits = Field(
        default=SweepLimits(), description="When the sweep begins no more trials."
    )
    added: Annotated[ListOf[AddedValues], Field(max_length=1000)] = Field(
        default=(),
        description="Written by the service when a grid gets more values: their trials come last.",
    )
    priority: Annotated[Integer, Field(ge=LOWEST_PRIORITY, le=HIGHEST_PRIORITY)] = Field(
        default=0, description="Priority of its jobs in the queue."
    )

    @model_validator(mode="before")
    @classmethod
    def _choose_metric(cls, value: Any) -> Any:
        """Return the sweep with the metric that fits its trials, unless it names one.

        It is of the validation part where there is one, and the mean absolute error of a
        regression.
        """
        objective = value.get("objective", {}) if isinstance(value, dict) else None
        if not isinstance(objective, dict) or "metric" in objective:
            return value
        parameters = value.get("parameters")
        varies = isinstance(parameters, dict) and VALIDATION in parameters
        part = "validation" if varies or has_validation(value.get("spec")) else "test"
        if regresses(value.get("spec")):
            return {**value, "objective": {**objective, "metric": f"{part}_mae"}}
        if part == "test":
            return value
        return {**value, "objective": {**objective, "metric": "validation_accuracy"}}

    def problems(self) -> Iterator[Problem]:
        """Yields what is wrong between the fields."""
        pointers = list(self._pointers())
        for place, pointer in pointers:
            yield from self._problems_of_pointer(place, pointer, [p for _, p in pointers])
        varies = VALIDATION in [pointer for _, pointer in pointers]
        if self.objective.metric.startswith("test_") and (varies or has_validation(self.spec)):
            figure = self.objective.metric.removeprefix("test_")
            detail = f"data.validation holds out samples to choose with: use validation_{figure}"
            yield Problem("/objective/metric", "inconsistent", detail)
        if not pointers and (self.method != "grid" or len(self.seeds) < 2):
            detail = "name at least one setting that varies, or several `seeds` of a grid"
            yield Problem("/parameters", "missing", detail)
        yield from repeated(self.seeds, "/seeds")
        for index, each in enumerate(self.added):
            parameter = self.parameters.get(each.parameter)
            total = sum(one.count for one in self.added if one.parameter == each.parameter)
            if self.method != "grid" or parameter is None or total >= len(parameter.values or ()):
                detail = f"{each.parameter} has no so many values of a grid"
                yield Problem(f"/added/{index}", "inconsistent", detail)
                return
        if self.method == "grid":
            for name, parameter in self.parameters.items():
                if parameter.values is None:
                    detail = f"a grid needs `values`; for {parameter.kind} use the method random"
                    yield Problem(f"/parameters/{strict_json.escape(name)}", "inconsistent", detail)
                    return
            yield from self._problems_of_grid()
        elif self.method == "tpe":
            for name, parameter in self.parameters.items():
                if parameter.normal is not None:
                    detail = "tpe needs bounds: use uniform, or the method random"
                    yield Problem(f"/parameters/{strict_json.escape(name)}", "unsupported", detail)
        if self.method != "grid" and self.trials is None:
            yield Problem("/trials", "missing", f"{self.method} needs the number of trials")
        if self.parallel and self.trials and self.parallel > self.trials:
            detail = f"must be at most the number of trials ({self.trials}); got {self.parallel}"
            yield Problem("/parallel", "inconsistent", detail)

    @property
    def space(self) -> SearchSpace:
        """The space that is searched."""
        return SearchSpace.of(self.parameters, self.together, self.added)

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds of the jobs of a trial: the replicas', or else that of the spec."""
        return self.seeds or replica_seeds(self.spec, 1)

    @property
    def trial_count(self) -> int:
        """The number of trials."""
        if self.method != "grid":
            return self.trials or 0
        size = self.space.grid_size
        return size if self.trials is None else self.trials

    @property
    def parallel_count(self) -> int:
        """The number of trials at the same time."""
        return self.parallel or min(PARALLEL, self.trial_count)

    def _problems_of_grid(self) -> Iterator[Problem]:
        size = self.space.grid_size
        if self.trials is not None and self.trials > size:
            detail = f"the grid has only {size:,} points; got {self.trials:,}"
            yield Problem("/trials", "out_of_range", detail)
        elif self.trial_count > MAX_TRIALS:
            detail = (
                f"the grid has {size:,} points, and a sweep at most {MAX_TRIALS:,} trials: give "
                "fewer values, a number of trials, or the method random"
            )
            yield Problem("/parameters", "too_many", detail)

    def _pointers(self) -> Iterator[tuple[str, str]]:
        """Yield the place in this document and the pointer of every setting that varies."""
        for name in self.parameters:
            yield f"/parameters/{strict_json.escape(name)}", name
        for number, axis in enumerate(self.together):
            for index, name in enumerate(axis.parameters):
                yield f"/together/{number}/parameters/{index}", name

    def _problems_of_pointer(
        self, place: str, pointer: str, pointers: list[str]
    ) -> Iterator[Problem]:
        if not pointer.startswith("/") or len(pointer) < 2:
            detail = "must be a JSON pointer such as /training/optimizer/learning_rate"
            yield Problem(place, "wrong_form", detail)
            return
        first = pointer[1:].partition("/")[0]
        if first in _FIXED:
            yield Problem(place, "unsupported", f"{first} does not change what is trained")
        if pointer == "/seed" and self.seeds:
            yield Problem(place, "inconsistent", "the seeds of the replicas are in `seeds`")
        if pointers.count(pointer) > 1:
            yield Problem(place, "repeated", "the setting is named twice")
        if any(pointer.startswith(f"{other}/") for other in pointers):
            yield Problem(place, "inconsistent", "another parameter contains this setting")


def parse_sweep(value: Any) -> SweepConfig:
    """Return the sweep in parsed JSON. Raises InvalidSweep with every problem and its pointer."""
    return validate(SweepConfig, value, InvalidSweep)
