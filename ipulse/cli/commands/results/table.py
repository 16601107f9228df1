"""table: the table of a paper, in Markdown, LaTeX or CSV."""

from __future__ import annotations

from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, addressed, names_in
from ipulse.cli.terminal import emit, say, show
from ipulse_core.errors import InvalidInput, NotFound, Problem
from ipulse_core.metric_names import smaller_is_better


@addressed
def table(
    at: Address,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="The jobs that a query finds: 'group:wide'.")
    ],
    metric: Annotated[str, typer.Option(metavar="NAME", help="The main metric.")] = "test_accuracy",
    group_by: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="Settings that make a row. [default: all that differ but seeds]"
        ),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print a tabular of booktabs.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown (default).")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with all digits.")] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Print the table of a paper: a row for the jobs that differ in the seed only.

    The main metric has the 95 % interval of its mean over seeds. Bold are the best and those that
    do not differ from it by Welch's t-test with Holm's correction. Parameters, synaptic operations,
    sparsity and estimated energy are means.
    """
    if latex + markdown + as_csv + as_json > 1:
        detail = "give one of --latex, --markdown, --csv and --json"
        raise InvalidInput([Problem("/latex", "contradiction", detail)], detail)
    from ipulse.paper_table import COSTS, SETTINGS, Column, paper_table

    names = None if group_by is None else names_in(group_by)
    with at.connect() as connection:
        known = {*connection.metric_names()}
        metrics = [metric, *(cost.metric for cost in COSTS if cost.metric in known)]
        result = connection.compare(
            None, query=query, columns=list(SETTINGS), metrics=metrics, group_by=names
        )
    if not result["jobs"]:
        raise NotFound("the query finds no jobs")
    is_share = metric.rpartition("_")[2].startswith("accuracy")
    main = Column(metric, f"{metric.replace('_', ' ')} (%)", 100, 1) if is_share else None
    main = main or Column(metric, metric.replace("_", " "), 1, 4)
    found = paper_table(result, main, smaller_is_better(metric))
    if as_json:
        heads, rows = found.values
        lines = [dict(zip(heads, row, strict=True)) for row in rows]
        emit({"rows": lines, "best": found.best, "notes": found.notes})
    else:
        show(found.latex() if latex else found.csv() if as_csv else found.markdown())
    if result["compared"] < result["total"]:
        say(f"{result['compared']:,} of {result['total']:,} jobs, the newest ones")
    return Exit.OK
