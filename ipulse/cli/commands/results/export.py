"""export: jobs for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.newest_job import find_newest
from ipulse.cli.options import Address, AsJSON, addressed
from ipulse.cli.terminal import emit, say, show
from ipulse.client import JobHandle
from ipulse.exports.targets import Target, default_place
from ipulse_core.errors import InvalidInput, Problem

_NEXT = {
    "tensorboard": "tensorboard --logdir {to}",
    "mlflow": "mlflow ui --backend-store-uri {to}",
    "wandb": "wandb sync {to}/wandb/offline-run-*",
}


@addressed
def export(
    at: Address,
    target: Annotated[Target, typer.Argument(help="Program or format.", show_default=False)],
    job_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="JOB...", help="Ids, their first digits, or latest."),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("--query", "-q", metavar="QUERY", help="All jobs that a search finds."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Folder for the files; for mlflow the address of a server or database. "
            "[default: ./TARGET, or sqlite:///mlflow.db]",
        ),
    ] = None,
    files: Annotated[
        bool, typer.Option(help="Whether mlflow and wandb get the jobs' files.")
    ] = True,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", "-f", help="Write to tensorboard while jobs train, until all have ended."
        ),
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Export jobs to TensorBoard, MLflow, W&B, tables or archives.

    Nothing is sent to another machine, except to the MLflow server that --to names. A repeat
    replaces or updates what an earlier export wrote.
    """
    from ipulse.exports.exporting import export_jobs
    from ipulse.exports.following import follow_jobs

    if follow and target != "tensorboard":
        detail = f"only tensorboard can be followed, not {target}"
        raise InvalidInput([Problem("/follow", "inconsistent", detail)], detail)
    place = to or default_place(target)
    written = []
    with at.connect() as connection:
        named = [find_newest(connection, job_id) for job_id in job_ids or ()]

        def chosen() -> list[JobHandle]:
            found = () if query is None else connection.jobs(query)
            return list(dict.fromkeys([*named, *found]))

        if not chosen():
            detail = "no job is named and none is found: give ids, or --query"
            raise InvalidInput([Problem("", "missing", detail)], "there is nothing to export")
        if follow:
            say(f"In another shell: {_NEXT[target].format(to=place)}")
            lines = follow_jobs(chosen, Path(place))
        else:
            lines = export_jobs(chosen(), target, place, files)
        for line in lines:
            written.append(line)
            if not as_json:
                show(line)
    if as_json:
        emit({"target": target, "to": place, "written": written})
    elif target in _NEXT and not follow:
        say(f"Next: {_NEXT[target].format(to=place)}")
    return Exit.OK
