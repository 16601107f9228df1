"""metrics: the metrics of jobs by epoch or step, as a table, CSV or JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from functools import partial
from typing import Annotated, Any

import typer

from ipulse.cli.commands.jobs.listing import AsCSV, csv_text, shown
from ipulse.cli.exits import Exit
from ipulse.cli.newest_job import find_newest
from ipulse.cli.options import Address, AsJSON, OneOrMoreJobs, Wide, addressed, names_in
from ipulse.cli.tables import show_table
from ipulse.cli.terminal import emit, say, show
from ipulse.client.jobs.batches import unknown_names
from ipulse.client.jobs.curves import MetricCurve
from ipulse.curve_choices import Axis, Scope


@addressed
def metrics(
    at: Address,
    job_ids: OneOrMoreJobs,
    names: Annotated[
        str, typer.Option(metavar="NAMES", help="Metrics with commas. [default: all]")
    ] = "",
    scope: Annotated[Scope, typer.Option(help="Values of epochs or of steps.")] = "epoch",
    x: Annotated[
        Axis | None, typer.Option("--x", help="First column. [default: the scope]")
    ] = None,
    points: Annotated[
        int, typer.Option(min=2, max=10_000, help="Rows of each job, at most.")
    ] = 1000,
    as_csv: AsCSV = False,
    wide: Wide = False,
    as_json: AsJSON = False,
) -> Exit:
    """Show the metrics of jobs: a row for each epoch, or each step with --scope step.

    If there are more points than --points, each row has the last value of a part of the curve;
    --json also has its smallest and largest one.
    """
    axis = x or scope
    asked = names_in(names)
    with at.connect() as connection:
        found = [find_newest(connection, job_id).id for job_id in job_ids]
        curves = connection.curves(found, asked, scope=scope, x=axis, points=points)
        missing = [name for name in asked if name not in {curve.name for curve in curves}]
        known = connection.curves(found, scope=scope, points=2) if missing else []
    if known:  # without any metric yet the names cannot be checked
        names_known = sorted({curve.name for curve in known})
        raise unknown_names("metric", missing, names_known)
    if as_json:
        emit({"scope": scope, "x": axis, "curves": [vars(curve) for curve in curves]})
        return Exit.OK
    columns = list(dict.fromkeys(curve.name for curve in curves))
    if not (asked or as_csv):
        columns = sorted(columns, key=partial(_rank, columns))
    headers, rows = _table(curves, columns, axis, with_jobs=len(found) > 1 or as_csv)
    if as_csv:
        show(csv_text(headers, rows).rstrip("\n"))
    elif rows:
        show_table(
            headers,
            [[shown(*cell) for cell in zip(headers, row, strict=True)] for row in rows],
            wide,
            spare=range(len(headers) - 1, headers.index(axis) + 1, -1),  # not the first metric
        )
    else:
        say("There are no such metrics (yet).")
    return Exit.OK


def _rank(names: Collection[str], name: str) -> int:
    """Return the place of a column: results, the same of the training, others, those of layers."""
    parts = ("test", "validation")
    if name.startswith(tuple(f"{part}_" for part in parts)):
        return 0
    return 1 if any(f"{part}_{name}" in names for part in parts) else 2 + ("/" in name)


def _table(
    curves: list[MetricCurve], names: list[str], axis: str, with_jobs: bool
) -> tuple[list[str], list[list[Any]]]:
    """Return the head and the rows of a table with a column for each metric."""
    cells: dict[tuple[str, float], dict[str, float]] = defaultdict(dict)
    jobs: dict[str, str] = {}
    for curve in curves:
        jobs[curve.job_id] = curve.job_name
        for at, value in zip(curve.x, curve.last, strict=True):
            cells[curve.job_id, at][curve.name] = value
    order = list(jobs)
    rows = []
    for job_id, at in sorted(cells, key=lambda key: (order.index(key[0]), key[1])):
        values = [cells[job_id, at].get(name) for name in names]
        rows.append([*([job_id, jobs[job_id]] if with_jobs else []), at, *values])
    return [*(["job", "name"] if with_jobs else []), axis, *names], rows
