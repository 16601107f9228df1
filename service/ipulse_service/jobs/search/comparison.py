"""Comparisons of jobs: the settings that differ, their metrics, and figures of groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import func, select

from ipulse_core import strict_json
from ipulse_core.metric_names import smaller_is_better
from ipulse_core.statistics import Sample, against_best
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import job_metrics, job_settings
from ipulse_service.jobs import leases
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.search.column_values import metric_rows, values_of
from ipulse_service.jobs.search.columns import AskedColumn, Scalar, asked_column
from ipulse_service.jobs.search.spread import Spread
from ipulse_service.jobs.search.terms import InvalidQuery, QueryText, invalid
from ipulse_service.jobs.search.vocabulary import (
    USUAL_METRICS,
    MetricColumn,
    SettingColumn,
    Vocabulary,
)


@dataclass(frozen=True)
class ComparisonRequest:
    """The names that a comparison is about; None: chosen from what the jobs have."""

    columns: tuple[str, ...] | None
    metrics: tuple[str, ...] | None
    group_by: tuple[str, ...] | None
    left_out: tuple[str, ...]  # of the settings that group jobs


@dataclass(frozen=True)
class ComparedColumn:
    """A setting or field of the compared jobs."""

    name: str
    label: str
    distinct: int  # values, also counting that a job has none


@dataclass(frozen=True)
class MetricValues:
    """The values of a metric of a job."""

    value: float  # the statistic that was asked for
    kept: float
    best: float
    min: float
    max: float
    last: float
    best_epoch: int


@dataclass(frozen=True)
class MetricSpread:
    """A metric of the jobs of a group."""

    spread: Spread | None  # None: no job has it
    of: int  # jobs of the group
    missing: list[str]  # ids of those without it
    is_best: bool = False  # of the groups
    p: float | None = None  # of Welch's test against the best group
    p_holm: float | None = None  # corrected for the number of groups


@dataclass(frozen=True)
class JobGroup:
    """Jobs with equal values of the grouping columns."""

    values: dict[str, Scalar]
    jobs: list[str]  # ids
    metrics: dict[str, MetricSpread]


@dataclass(frozen=True)
class ComparedJobs:
    """Compared jobs: values by job and column, metrics by job, and groups."""

    columns: list[ComparedColumn]
    metrics: list[str]
    values: dict[int, dict[str, Scalar]]
    metric_values: dict[int, dict[str, MetricValues | None]]
    group_by: list[str]
    groups: list[JobGroup]


def compare(
    transaction: Transaction,
    vocabulary: Vocabulary,
    rows: Sequence[JobRow],
    wanted: ComparisonRequest,
) -> ComparedJobs:
    """Compares jobs. Raises InvalidQuery for a name that no job has."""
    pks = [row.pk for row in rows]
    varied = _varied_settings(transaction, vocabulary, pks)
    left_out = {_known(vocabulary, name, "/except", i) for i, name in enumerate(wanted.left_out)}
    if wanted.columns is None:
        columns = varied
    else:
        columns = _resolved(vocabulary, wanted.columns, "/columns")
    if wanted.group_by is None:
        groupers = [column for column in varied if column.name not in left_out]
    else:
        groupers = _resolved(vocabulary, wanted.group_by, "/group_by")
    if wanted.metrics is None:
        metrics = _usual_metrics(transaction, vocabulary, pks)
    else:
        metrics = _resolved(vocabulary, wanted.metrics, "/metrics")
        for index, column in enumerate(metrics):
            if not isinstance(column.column, MetricColumn):
                detail = f"`{column.key[:60]}` is no metric"
                raise invalid("wrong_value", detail, 0, len(column.key), f"/metrics/{index}")
    tried = leases.of_jobs(transaction, pks)
    agents = {pk: attempts[-1].agent for pk, attempts in tried.items() if attempts}
    asked = list({column.key: column for column in (*columns, *groupers, *metrics)}.values())
    values = values_of(transaction, rows, asked, agents)
    return ComparedJobs(
        [_column(vocabulary, column, values) for column in columns],
        [column.key for column in metrics],
        values,
        _metric_values(transaction, pks, metrics),
        [column.key for column in groupers],
        _groups(rows, values, groupers, metrics),
    )


def _varied_settings(
    transaction: Transaction, vocabulary: Vocabulary, pks: Sequence[int]
) -> list[AskedColumn]:
    """Returns the settings in which jobs differ, in the order of their names."""
    value = job_settings.c.value
    query = (
        select(job_settings.c.name_id)
        .where(job_settings.c.job_pk.in_(pks))
        .group_by(job_settings.c.name_id)
        .having((func.min(value) != func.max(value)) | (func.count() < len(pks)))
    )
    names = {number: name for name, number in vocabulary.settings.items()}
    found = sorted(
        (names[number], number) for number in transaction.connection.execute(query).scalars()
    )
    return [
        AskedColumn(name, name, "setting", SettingColumn(name, number)) for name, number in found
    ]


def _usual_metrics(
    transaction: Transaction, vocabulary: Vocabulary, pks: Sequence[int]
) -> list[AskedColumn]:
    query = select(job_metrics.c.name_id).where(job_metrics.c.job_pk.in_(pks)).distinct()
    present = set(transaction.connection.execute(query).scalars())
    names = [name for name in USUAL_METRICS if vocabulary.metrics.get(name) in present]
    return _resolved(vocabulary, names, "/metrics")


def _resolved(vocabulary: Vocabulary, names: Sequence[str], pointer: str) -> list[AskedColumn]:
    """Returns columns by name; the key of a setting is its full name."""
    columns = []
    for index, name in enumerate(names):
        column = asked_column(vocabulary, QueryText(name, 0, len(name)), f"{pointer}/{index}")
        if column.column is None and vocabulary.settings:
            vocabulary.column(QueryText(name, 0, len(name)), f"{pointer}/{index}")
        columns.append(column._replace(key=column.name))
    return columns


def _metric_values(
    transaction: Transaction, pks: Sequence[int], metrics: Sequence[AskedColumn]
) -> dict[int, dict[str, MetricValues | None]]:
    rows = metric_rows(transaction, pks, metrics)
    values: dict[int, dict[str, MetricValues | None]] = {pk: {} for pk in pks}
    for key, _, _, column in metrics:
        if not isinstance(column, MetricColumn):
            continue
        best = "smallest" if smaller_is_better(column.metric) else "largest"
        for pk in pks:
            row = None if column.id is None else rows.get((pk, column.id))
            values[pk][key] = None
            if row:
                values[pk][key] = MetricValues(
                    row[column.statistic],
                    row["kept"],
                    row[best],
                    row["smallest"],
                    row["largest"],
                    row["last"],
                    row[f"{best}_epoch"],
                )
    return values


def _known(vocabulary: Vocabulary, name: str, pointer: str, index: int) -> str:
    """Returns the full name of a column; a name that no job has stays as it is."""
    try:
        return asked_column(vocabulary, QueryText(name, 0, len(name)), f"{pointer}/{index}").name
    except InvalidQuery as error:
        if error.problems[0].code == "unknown_name":
            return name
        raise


def _column(
    vocabulary: Vocabulary, column: AskedColumn, values: Mapping[int, Mapping[str, Scalar]]
) -> ComparedColumn:
    label = vocabulary.label(column.name) if column.kind == "setting" else column.name
    distinct = {strict_json.dumps(of_job[column.key]) for of_job in values.values()}
    return ComparedColumn(column.name, label, len(distinct))


def _groups(
    rows: Sequence[JobRow],
    values: Mapping[int, Mapping[str, Scalar]],
    groupers: Sequence[AskedColumn],
    metrics: Sequence[AskedColumn],
) -> list[JobGroup]:
    """Returns groups in the order of their first jobs."""
    members: dict[str, list[JobRow]] = defaultdict(list)
    for row in rows:
        key = strict_json.dumps([values[row.pk][column.key] for column in groupers])
        members[key].append(row)
    groups = list(members.values())
    spreads = {
        column.key: _tested(column.key, [_metric(jobs, values, column.key) for jobs in groups])
        for column in metrics
    }
    return [
        JobGroup(
            {column.key: values[jobs[0].pk][column.key] for column in groupers},
            [row.id for row in jobs],
            {key: of_groups[at] for key, of_groups in spreads.items()},
        )
        for at, jobs in enumerate(groups)
    ]


def _tested(name: str, groups: Sequence[MetricSpread]) -> list[MetricSpread]:
    """Returns the figures of groups with the tests of their means against the best."""
    spreads = [group.spread for group in groups]
    samples = [
        None if spread is None else Sample(spread.mean, spread.deviation, spread.n)
        for spread in spreads
    ]
    tests = against_best(samples, smaller_is_better(name))
    return [
        replace(group, is_best=at == tests.best, p=tests.p[at], p_holm=tests.corrected[at])
        for at, group in enumerate(groups)
    ]


def _metric(
    jobs: Sequence[JobRow], values: Mapping[int, Mapping[str, Scalar]], key: str
) -> MetricSpread:
    numbers = {row.id: values[row.pk][key] for row in jobs}
    present = [float(number) for number in numbers.values() if isinstance(number, (int, float))]
    missing = [job_id for job_id, number in numbers.items() if number is None]
    return MetricSpread(Spread.of(present), len(jobs), missing)
