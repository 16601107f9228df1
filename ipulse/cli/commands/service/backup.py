"""backup, restore, migrate: keep what a service has, and move it."""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON, Home
from ipulse.cli.terminal import emit, say, show, size_text
from ipulse.install_hint import install_hint
from ipulse.stack.home import home_folder
from ipulse_core.errors import MissingDependency

NoKeys = Annotated[
    bool,
    typer.Option("--no-keys", help="Leave out tokens and the key of the certificate."),
]


def backup(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="The new archive.", show_default=False)
    ],
    project: Annotated[
        str,
        typer.Option(
            "--project",
            metavar="NAME",
            help="Only this project, without tokens and keys, to add it to another service.",
            show_default=False,
        ),
    ] = "",
    no_keys: NoKeys = False,
    home: Home = None,
    as_json: AsJSON = False,
) -> Exit:
    """Back up the service of this machine while it runs.

    The archive has all jobs, results, data sets and tokens. Who reads it can use the service, so
    that it is readable for you only. Exit code 6: files are missing from the store.
    """
    made = _of_service("backup")(_environment(home), path, not no_keys, project)
    if as_json:
        emit(made)
    else:
        keys = f" and {len(made['keys'])} keys" if made["keys"] else ", without keys"
        counts = f"{made['jobs']} jobs, {made['files']} files{keys}"
        show(f"{made['path']}: {counts} ({size_text(made['size'])})", style="green")
        if made["keys"]:
            say("It contains tokens: who reads it can use the service.")
    for digest in made["missing"]:
        say(
            f"The store lacks the file {digest}, or has it damaged: put it back from an older "
            "backup (`ipulse restore`), or delete its job.",
            style="yellow",
        )
    return Exit.OTHER if made["missing"] else Exit.OK


def restore(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The archive.", show_default=False)],
    check: Annotated[bool, typer.Option("--check", help="Only check the archive.")] = False,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace the jobs, data sets and tokens that are there."),
    ] = False,
    project: Annotated[
        str,
        typer.Option(
            "--project",
            metavar="NAME",
            help="Another name for the project of an archive that has only one.",
            show_default=False,
        ),
    ] = "",
    no_keys: NoKeys = False,
    home: Home = None,
    as_json: AsJSON = False,
) -> Exit:
    """Restore a backup into the home of a stopped service, or add a project to it.

    The whole archive is checked before anything is written. If the command is interrupted, run it
    again.
    """
    if check:
        done = _of_service("check")(path)
        text = f"{path} is sound: {done['jobs']} jobs of {done['made_at']}"
    else:
        done = _of_service("restore")(_environment(home), path, not no_keys, replace, project)
        text = f"{done['home']} has the {done['jobs']} jobs of {done['made_at']}"
    if done["project"]:
        text += f", in the project {done['project']}"
    if as_json:
        emit(done)
    else:
        show(text, style="green")
        if done.get("people"):
            names = ", ".join(done["people"])
            say(f"Unknown people and accounts were added, without tokens: {names}.")
        elif not check and not done["project"]:
            say("Tokens that were revoked after the backup are valid again: `ipulse token list`.")
    if done["missing"]:
        say(f"It lacks {len(done['missing'])} files that its store lacked.", "yellow")
    return Exit.OK


def migrate(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="An empty database: postgresql://USER@HOST/DATABASE, with the password in "
            "PGPASSFILE.",
            show_default=False,
        ),
    ],
    home: Home = None,
    as_json: AsJSON = False,
) -> Exit:
    """Move the database of a home from SQLite to PostgreSQL, while the service is stopped.

    All rows are compared before the new database has them. Files stay where they are.
    """
    moved = _of_service("migrate")(_environment(home), url)
    if as_json:
        emit(moved)
    else:
        rows = moved["rows"]
        text = f"{moved['database']} has all {sum(rows.values())} rows, {rows['jobs']} of jobs"
        show(text, style="green")
        say(f"Start the service with IPULSE_DATABASE_URL={moved['database']}.")
        say(f"The former database is kept as {moved['kept']}.")
    return Exit.OK


def _environment(home: Path | None) -> dict[str, str]:
    """Return the variables from which the service of a home reads its settings."""
    return {**os.environ, "IPULSE_HOME": str(home_folder(home, os.environ))}


def _of_service(name: str) -> Any:
    """Return a function of the service's distribution.

    `ipulse` is also installed alone: then it raises MissingDependency.
    """
    try:
        (entry,) = entry_points(group="ipulse.backup", name=name)
        return entry.load()
    except (ValueError, ModuleNotFoundError) as error:
        raise MissingDependency(
            f"this command needs the service on this machine: {install_hint('all')}"
        ) from error
