"""Arguments and options that several commands share."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ipulse.client import Connection
from ipulse.times import time_of
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, Problem

from .completing import complete_job, complete_setting
from .exits import Exit

# A name in a list with commas; in quotation marks a comma is part of it: label."a, b".
_NAME = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^,])+', re.DOTALL)
JOB_HELP = (
    "Id of the job, its first characters (4 or more), its name, latest, or latest~1 (one before)."
)

JobId = Annotated[
    str,
    typer.Argument(metavar="ID", help=JOB_HELP, show_default=False, autocompletion=complete_job),
]
OneOrMoreJobs = Annotated[
    list[str],
    typer.Argument(metavar="ID...", help=JOB_HELP, show_default=False, autocompletion=complete_job),
]
JobQuery = Annotated[
    str | None,
    typer.Option("--query", "-q", metavar="QUERY", help="All jobs that this query finds."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count the jobs that would change.")]
SpecPath = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="The spec as YAML or JSON; - reads standard input.",
        show_default=False,
        allow_dash=True,
    ),
]
SpecPaths = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="The specs as YAML or JSON; - reads standard input.",
        show_default=False,
        allow_dash=True,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        autocompletion=complete_setting,
        help="Replace a field of the spec: epochs=5, training.epochs=5 or /training/epochs=5. "
        "The value is YAML. May be repeated.",
    ),
]
JobName = Annotated[
    str | None,
    typer.Option("--name", metavar="TEXT", help="Name of the job, in place of the spec's."),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="Give the job this tag. May be repeated."),
]
Group = Annotated[
    str | None, typer.Option(metavar="NAME", help="Put the job into this group of jobs.")
]
Note = Annotated[str, typer.Option(metavar="TEXT", help="Notes for people, in Markdown.")]
JobIds = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ID]...", help=JOB_HELP, show_default=False, autocompletion=complete_job
    ),
]
AsJSON = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
FollowOutside = Annotated[
    bool,
    typer.Option("--follow-outside", help="Follow symbolic links that leave the folder, too."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Wide = Annotated[
    bool,
    typer.Option("--wide", help="Cut no cell to fit the terminal; a pipe has all."),
]
URL = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Address of the service. [env: IPULSE_URL]"),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File with the token. [env: IPULSE_TOKEN_FILE]"),
]
Authority = Annotated[
    Path | None,
    typer.Option(
        "--ca",
        metavar="FILE",
        help="Authority, or certificate, of the service (PEM). [env: IPULSE_CA]",
    ),
]
Home = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder of the state of `ipulse up`. [env: IPULSE_HOME] "
        "[default: ~/.local/state/ipulse]",
    ),
]

DataFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        envvar="IPULSE_DATA",
        show_envvar=False,
        exists=True,
        file_okay=False,
        resolve_path=True,
        help="Directory of the recorded data that specs name. [env: IPULSE_DATA]",
    ),
]


@dataclass(frozen=True)
class Address:
    """The options by which a command finds the service."""

    url: URL = None
    token_file: TokenFile = None
    home: Home = None
    ca: Authority = None

    def connect(self) -> Connection:
        """Return a connection. Raises the errors of ipulse.client.location.find_service."""
        return Connection(self.url, token_file=self.token_file, home=self.home, ca=self.ca)


def with_options(kind: type[Any]) -> Callable[[Callable[..., Exit]], Callable[..., Exit]]:
    """Add the fields of a dataclass to the options of a command, which gets them as one object.

    The object is the first argument of the command.
    """
    hints = get_type_hints(kind, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(field.name, keyword, default=field.default, annotation=hints[field.name])
        for field in fields(kind)
    ]

    def decorate(command: Callable[..., Exit]) -> Callable[..., Exit]:
        @functools.wraps(command)
        def run(*arguments: Any, **options: Any) -> Exit:
            chosen = kind(**{parameter.name: options.pop(parameter.name) for parameter in added})
            return command(chosen, *arguments, **options)

        own = [
            inspect.Parameter(name, keyword, default=parameter.default, annotation=hint)
            for name, parameter, hint in _own_parameters(command)
        ]
        # Typer and the documentation read the signature.
        signature = inspect.Signature([*own, *added])
        run.__signature__ = signature  # type: ignore[attr-defined]  # mypy knows no such attribute
        run.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
        return run

    return decorate


addressed = with_options(Address)


def _own_parameters(command: Callable[..., Exit]) -> Iterator[tuple[str, inspect.Parameter, Any]]:
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in islice(inspect.signature(command).parameters.items(), 1, None):
        yield name, parameter, hints[name]


def with_name(settings: Sequence[str] | None, name: str | None) -> list[str]:
    """Return the settings of a spec with another one for its name, if there is a name."""
    named = [] if name is None else [f"/name={strict_json.dumps(name)}"]
    return [*(settings or ()), *named]


def names_in(text: str) -> list[str]:
    """Return the names in the text of an option that takes several, with commas."""
    return [name.strip() for name in _NAME.findall(text) if name.strip()]


def parse_time(name: str, text: str | None) -> datetime | None:
    """Read a time; without a time zone it is local."""
    if text is None:
        return None
    try:
        return time_of(text)
    except ValueError:
        detail = f"must be a time such as 2026-01-31 or 2026-01-31T12:00:00Z; got {text[:60]!r}"
        raise InvalidInput([Problem(f"/{name}", "wrong_form", detail)], "no such time") from None
