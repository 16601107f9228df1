"""list: jobs that a query finds, with any columns."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Any

import typer

from ipulse.cli.display.figures import accuracy_of, figure
from ipulse.cli.display.waiting import awaited_job
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, Wide, addressed, names_in
from ipulse.cli.tables import show_list
from ipulse.cli.terminal import say, second_text, show
from ipulse.client import JobHandle
from ipulse.times import time_of
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.numbers import plain_number
from ipulse_core.states import JobState

_STATES = ", ".join(state.value for state in JobState)
_STATISTICS = (".best", ".min", ".max", ".last")
_TIMES = ("created", "started", "finished")
_CSV_COLUMNS = "id,name,state,created,group,tag,test_accuracy,test_loss"

AsCSV = Annotated[bool, typer.Option("--csv", help="Print CSV on standard output.")]


@addressed
def list_jobs(
    at: Address,
    query: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUERY]",
            help="What to find, such as 'state:succeeded test_accuracy>0.95 -tag:old'.",
            show_default=False,
        ),
    ] = None,
    state: Annotated[
        str | None, typer.Option(metavar="STATE", help=f"Only jobs in this state: {_STATES}.")
    ] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only your own jobs.")] = False,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="Fields, settings and metrics with commas: name,learning_rate."
        ),
    ] = None,
    sort: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Columns to sort by; -test_accuracy: largest first."),
    ] = "",
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="Number of jobs, at most.")] = 20,
    as_csv: AsCSV = False,
    wide: Wide = False,
    as_json: AsJSON = False,
) -> Exit:
    """List jobs, newest first, or those that a query finds.

    The search language is described in docs/reference/search.md. With --json the values of
    --columns are in `values` of each job.
    """
    if as_csv and as_json:
        detail = "give either --csv or --json"
        raise InvalidInput([Problem("/csv", "contradiction", detail)], detail)
    asked = columns if columns is not None or not as_csv else _CSV_COLUMNS
    names = names_in(asked or "")
    text = " ".join(query or ())
    with at.connect() as connection:
        if mine:
            own = f'owner:"{connection.me().name}"'
            text = f"({text}) {own}" if text else own
        if columns:
            connection.check_columns(names)
        found = connection.jobs(
            text,
            sort,
            state=state,
            columns=names,
            page_size=min(limit, 100),
            waiting_on=not names,
        )
        jobs = list(islice(found, limit))
        is_cut = len(jobs) == limit and sys.stderr.isatty() and not as_json
        total = connection.jobs(text).count() if is_cut and state is None else None
    if as_csv:
        show(csv_text(names, [_values(job, names) for job in jobs]).rstrip("\n"))
        return Exit.OK
    headers = [name.upper() for name in names] or ["ID", "NAME", "STATE", "CREATED", "ACCURACY"]
    rows = [
        [shown(name, value) for name, value in zip(names, _values(job, names), strict=True)]
        if names
        else _usual_row(job)
        for job in jobs
    ]
    show_list("jobs", [job.json for job in jobs], headers, rows, as_json, wide)
    if total is not None and total > limit:
        say(f"{limit:,} of {total:,} jobs; more with --limit")
    return Exit.OK


def csv_text(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as CSV, with numbers as they are."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerows([headers, *rows])
    return output.getvalue()


def shown(name: str, value: Any) -> str:
    """Return the text of a column's value in a table."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        base = name.rpartition(".")[0] if name.endswith(_STATISTICS) else name
        is_metric = base.removeprefix("test_").partition("/")[0] in ("accuracy", "loss")
        return figure(base, value) if is_metric else plain_number(value)
    if name in _TIMES:
        return second_text(time_of(value))
    return str(value)


def _values(job: JobHandle, names: Sequence[str]) -> list[Any]:
    values = job.json.get("values") or {}
    return [values.get(name) for name in names]


def _usual_row(job: JobHandle) -> list[str]:
    first = awaited_job(job.json.get("waiting_on"))
    return [
        job.id,
        job.name,
        f"{job.state.value} by {first}" if first else job.state.value,
        second_text(job.created_at),
        accuracy_of(job, ""),
    ]
