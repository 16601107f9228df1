"""compare: jobs side by side, and figures of groups that differ in the seed only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ipulse.cli.commands.jobs.listing import AsCSV, csv_text, shown
from ipulse.cli.completing import complete_job
from ipulse.cli.exits import Exit
from ipulse.cli.newest_job import find_newest
from ipulse.cli.options import JOB_HELP, Address, AsJSON, Wide, addressed, names_in
from ipulse.cli.tables import least_varied_first, show_table
from ipulse.cli.terminal import emit, say, show
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.ids import short_id
from ipulse_core.numbers import plain_number

_SPECS = (".yaml", ".yml", ".json")
_FIGURES = ("mean", "sd", "95 %", "n", "p")  # of a metric in a group
_MOST_BESIDE = 4  # jobs that fit side by side on a terminal


@addressed
def compare(
    at: Address,
    job_ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...", help=JOB_HELP, show_default=False, autocompletion=complete_job
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("--query", "-q", metavar="QUERY", help="The jobs that a query finds."),
    ] = None,
    group_by: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Show a row for the jobs with equal values of these settings. "
            "[default: all that differ but the seed]",
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Settings to show. [default: that differ]")
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Metrics, such as test_accuracy,test_loss.best."),
    ] = None,
    each: Annotated[bool, typer.Option("--each", help="Show each job, not groups.")] = False,
    as_csv: AsCSV = False,
    wide: Wide = False,
    as_json: AsJSON = False,
) -> Exit:
    """Compare jobs: the settings that differ and their results.

    If several jobs differ in the seed only, the mean over the seeds, the standard deviation, the
    95 % interval of the mean (by Student's t) and p are shown: of Welch's t-test against the best
    group, with Holm's correction for the number of groups. --csv prints each job, or with
    --group-by each group.
    """
    _check(job_ids, query)
    lists = (columns, metrics, group_by)
    chosen = [None if text is None else names_in(text) for text in lists]
    with at.connect() as connection:
        found = [find_newest(connection, job_id).id for job_id in job_ids] if job_ids else None
        result = connection.compare(
            found, query=query, columns=chosen[0], metrics=chosen[1], group_by=chosen[2]
        )
    if as_json:
        emit(result)
        return Exit.OK
    count = len(result["jobs"])
    has_seeds = len(result["groups"]) < count and (query is not None or count > _MOST_BESIDE)
    is_grouped = bool(group_by) or (has_seeds and not each)
    if as_csv:
        show(csv_text(*(_groups if group_by else _jobs)(result)).rstrip("\n"))
    elif not result["jobs"]:
        say("The query finds no jobs.")
    elif is_grouped:
        _show_groups(result, wide)
    elif len(result["jobs"]) <= _MOST_BESIDE:
        show_table(*_beside(result), wide)
    else:
        _show_jobs(result, wide)
    if result["compared"] < result["total"]:
        say(f"{result['compared']:,} of {result['total']:,} jobs, the newest ones")
    return Exit.OK


def _check(job_ids: list[str] | None, query: str | None) -> None:
    for job_id in job_ids or ():
        if Path(job_id).suffix in _SPECS:
            new = f"`ipulse crosscheck {job_id}`"
            raise InvalidInput([], f"`ipulse compare {job_id}` is {new} now; compare takes jobs")
    if bool(job_ids) == (query is not None):
        detail = "give either ids of jobs, or -q QUERY"
        raise InvalidInput([Problem("/ID", "missing", detail)], detail)


def _labels(result: dict[str, Any]) -> dict[str, str]:
    return {column["name"]: column["label"] for column in result["settings"]}


def _jobs(result: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Return a table with a row for each job."""
    labels, metrics = _labels(result), result["metrics"]
    headers = ["id", "name", "state", *labels.values(), *metrics]
    return headers, [
        [
            *(job[field] for field in ("id", "name", "state")),
            *(job["settings"][name] for name in labels),
            *(_value(job, name) for name in metrics),
        ]
        for job in result["jobs"]
    ]


def _show_jobs(result: dict[str, Any], wide: bool) -> None:
    """Write a row for each job; where it does not fit, the first metric stays to the last."""
    headers, values = _jobs(result)
    names = [*(None for _ in headers[:3]), *headers[3:]]
    rows = [[_text(n, v) for n, v in zip(names, row, strict=True)] for row in values]
    first = len(headers) - len(result["metrics"])
    state_and_name = [2, 1]
    settings = least_varied_first(rows, range(3, first))
    spare = [*reversed(range(first + 1, len(headers))), *state_and_name, *settings]
    show_table(headers, rows, wide, spare=spare)


def _beside(result: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return a table with a column for each job, and for two jobs the first minus the second."""
    jobs, labels = result["jobs"], _labels(result)
    has_difference = len(jobs) == 2
    headers = [
        "",
        *(short_id(job["id"]) for job in jobs),
        *([" − ".join(short_id(job["id"]) for job in jobs)] if has_difference else []),
    ]
    rows = [["name", *(job["name"] for job in jobs)], ["state", *(job["state"] for job in jobs)]]
    for name, label in labels.items():
        rows.append([label, *(_text(label, job["settings"][name]) for job in jobs)])
    for name in result["metrics"]:
        values = [_value(job, name) for job in jobs]
        row = [name, *(_text(name, value) for value in values)]
        numbers = [value for value in values if value is not None]
        if has_difference and len(numbers) == 2:
            row.append(_difference(name, numbers[0] - numbers[1]))
        rows.append(row)
    return headers, [[*row, *[""] * (len(headers) - len(row))] for row in rows]


def _groups(result: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Return a table with a row for each group and plain numbers."""
    figures = ("n", "of", "mean", "sd", "interval", "min", "max", "p", "p_holm")
    headers = [*result["group_by"], *(f"{m} {f}" for m in result["metrics"] for f in figures)]
    return headers, [
        [
            *(group["values"][name] for name in result["group_by"]),
            *(group["metrics"][m][f] for m in result["metrics"] for f in figures),
        ]
        for group in result["groups"]
    ]


def _show_groups(result: dict[str, Any], wide: bool) -> None:
    """Write a row for each group; where it does not fit, the first metric stays to the last."""
    labels, metrics = _labels(result), result["metrics"]
    names = result["group_by"]
    headers = [*(labels.get(name, name) for name in names), "jobs"]
    for name in metrics:
        headers += [f"{name}, mean", *_FIGURES[1:]]
    rows = []
    for group in result["groups"]:
        row = [*(_text(name, group["values"][name]) for name in names), str(len(group["jobs"]))]
        for name in metrics:
            figures = group["metrics"][name]
            row.append(_text(name, figures["mean"]))
            row += [_text(name, figures["sd"]), _plus_minus(name, figures["interval"])]
            row.append(f"{figures['n']} of {figures['of']}")
            row.append("best" if figures["is_best"] else _text(None, figures["p_holm"]))
        rows.append(row)
    first = len(names) + 1  # column of a metric's mean
    means = range(first, len(headers), len(_FIGURES))
    others = [mean + at for at in (3, 1, 4, 2) for mean in reversed(means)]
    settings = least_varied_first(rows, range(len(names)))
    spare = [*others, *reversed(means[1:]), len(names), *settings]
    show_table(headers, rows, wide, spare=spare)


def _value(job: dict[str, Any], name: str) -> float | None:
    found = job["metrics"][name]
    value: float | None = None if found is None else found["value"]
    return value


def _text(name: str | None, value: Any) -> str:
    return shown(name or "", value)


def _plus_minus(name: str, value: float | None) -> str:
    return "" if value is None else f"±{_text(name, value)}"


def _difference(name: str, value: float) -> str:
    sign = "+" if value >= 0 else ""
    if _text(name, 1.0).endswith("%"):
        return f"{sign}{100 * value:.1f} points"
    return f"{sign}{plain_number(value)}"
