"""Comparisons of jobs as the API returns them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from pydantic import BaseModel, Field

from ipulse_core.metric_names import smaller_is_better
from ipulse_core.states import JobState
from ipulse_service.http.schemas.base import JOB_ID, example
from ipulse_service.http.schemas.jobs.comparison_body import MAX_COMPARED
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.search.columns import Scalar
from ipulse_service.jobs.search.comparison import ComparedJobs, MetricSpread

_NAME = "training.optimizer.learning_rate"
_VALUES = {
    "value": 0.95,
    "kept": 0.95,
    "best": 0.95,
    "min": 0.2,
    "max": 0.95,
    "last": 0.95,
    "best_epoch": 9,
}
_SPREAD: dict[str, Any] = {
    "n": 1,
    "of": 1,
    "mean": 0.95,
    "sd": None,
    "min": 0.95,
    "max": 0.95,
    "interval": None,
    "missing": [],
    "is_best": True,
    "p": None,
    "p_holm": None,
}
_JOB = {
    "id": JOB_ID,
    "name": "digits",
    "state": "succeeded",
    "tags": ["wide"],
    "group": None,
    "settings": {_NAME: 0.01},
    "metrics": {"test_accuracy": _VALUES},
}
_GROUP = {
    "values": {_NAME: 0.01},
    "jobs": [JOB_ID],
    "metrics": {"test_accuracy": _SPREAD},
}
_COLUMN = {"name": _NAME, "label": "learning_rate", "distinct": 1}


class ComparisonColumn(BaseModel):
    """A setting or field of the compared jobs."""

    model_config = example(**_COLUMN)

    name: str
    label: str = Field(description="The shortest end of the name that means only this.")
    distinct: int = Field(description="Number of different values.")


class MetricValuesInfo(BaseModel):
    """The values of a metric of a job."""

    model_config = example(**_VALUES)

    value: float = Field(description="The statistic that was asked for; of test_accuracy: kept.")
    kept: float = Field(description="Of the kept epoch; while the job runs, of its latest one.")
    best: float
    min: float
    max: float
    last: float
    best_epoch: int


class ComparedJob(BaseModel):
    """A job of a comparison."""

    model_config = example(**_JOB)

    id: str
    name: str
    state: JobState
    tags: list[str]
    group: str | None
    settings: dict[str, Scalar] = Field(description="By the names of `settings`.")
    metrics: dict[str, MetricValuesInfo | None] = Field(description="By the names of `metrics`.")


class SpreadInfo(BaseModel):
    """A metric of the jobs of a group."""

    model_config = example(**_SPREAD)

    n: int = Field(description="Jobs that have the metric.")
    of: int = Field(description="Jobs of the group.")
    mean: float | None
    sd: float | None = Field(description="Of the sample, with n - 1; null for n below 2.")
    min: float | None
    max: float | None
    interval: float | None = Field(
        description="Half the width of the 95 % interval of the mean, by Student's t."
    )
    missing: list[str] = Field(description="Ids of the jobs without it.")
    is_best: bool = Field(description="Whether no other group has a better mean.")
    p: float | None = Field(
        description="Of Welch's t-test against the group with the best mean; null for this group, "
        "and if one of the two has a single value."
    )
    p_holm: float | None = Field(description="`p` by Holm's correction for the number of groups.")

    @classmethod
    def from_metric(cls, metric: MetricSpread) -> Self:
        """Returns the model of a metric of a group."""
        spread = metric.spread
        return cls(
            n=0 if spread is None else spread.n,
            of=metric.of,
            mean=None if spread is None else spread.mean,
            sd=None if spread is None else spread.deviation,
            min=None if spread is None else spread.minimum,
            max=None if spread is None else spread.maximum,
            interval=None if spread is None else spread.interval,
            missing=metric.missing,
            is_best=metric.is_best,
            p=metric.p,
            p_holm=metric.p_holm,
        )


class GroupInfo(BaseModel):
    """Jobs with equal values of `group_by`."""

    model_config = example(**_GROUP)

    values: dict[str, Scalar]
    jobs: list[str]
    metrics: dict[str, SpreadInfo]


class ComparisonInfo(BaseModel):
    """A comparison of jobs."""

    model_config = example(
        total=1,
        compared=1,
        limit=MAX_COMPARED,
        settings=[_COLUMN],
        metrics=["test_accuracy"],
        smaller_is_better=[],
        jobs=[_JOB],
        group_by=[_NAME],
        groups=[_GROUP],
    )

    total: int = Field(description="Jobs that were named or found.")
    compared: int = Field(description="Of these, the newest ones up to the limit.")
    limit: int
    settings: list[ComparisonColumn] = Field(
        description="The settings that differ, or the `columns` that were asked for."
    )
    metrics: list[str]
    smaller_is_better: list[str] = Field(
        description="Those of `metrics` that should fall, as losses and durations should."
    )
    jobs: list[ComparedJob]
    group_by: list[str]
    groups: list[GroupInfo] = Field(description="In the order of their first jobs.")

    @classmethod
    def of(cls, total: int, rows: Sequence[JobRow], comparison: ComparedJobs) -> Self:
        """Returns the model of a comparison."""
        return cls(
            total=total,
            compared=len(rows),
            limit=MAX_COMPARED,
            settings=[ComparisonColumn(**vars(column)) for column in comparison.columns],
            metrics=comparison.metrics,
            smaller_is_better=[name for name in comparison.metrics if smaller_is_better(name)],
            jobs=[_compared(row, comparison) for row in rows],
            group_by=comparison.group_by,
            groups=[
                GroupInfo(
                    values=group.values,
                    jobs=group.jobs,
                    metrics={
                        name: SpreadInfo.from_metric(metric)
                        for name, metric in group.metrics.items()
                    },
                )
                for group in comparison.groups
            ],
        )


def _compared(row: JobRow, comparison: ComparedJobs) -> ComparedJob:
    values = comparison.values[row.pk]
    metrics = comparison.metric_values[row.pk]
    return ComparedJob.model_validate(
        {
            "id": row.id,
            "name": row.name,
            "state": row.state,
            "tags": row.tag_list,
            "group": row.group_name,
            "settings": {column.name: values[column.name] for column in comparison.columns},
            "metrics": {name: found and vars(found) for name, found in metrics.items()},
        }
    )
