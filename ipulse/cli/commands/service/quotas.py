"""project quota, user quota and usage: limits, and used device time."""

from __future__ import annotations

import csv
import sys
from typing import Annotated

import typer

from ipulse.cli.commands.service.people import ProjectName, UserName
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, Wide, addressed
from ipulse.cli.tables import show_list
from ipulse.client import QuotaLimit
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.quotas import Quota

NAMES = tuple(name.value for name in Quota)
COLUMNS = ("project", "user", "device", "month")
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=N",
        help=f"Set a quota, or remove it with NAME=none. Names: {', '.join(NAMES)}.",
        show_default=False,
    ),
]


@addressed
def project_quota(
    at: Address,
    name: ProjectName,
    user: Annotated[
        str | None,
        typer.Option(metavar="USER", help="Of a member in the project.", show_default=False),
    ] = None,
    set_: Set = None,
    wide: Wide = False,
    as_json: AsJSON = False,
) -> Exit:
    """Show the quotas of a project and how much of each is used, or set some.

    Administrators set those of a project; its owners set those of its members.
    """
    return _quota(at, name, user, set_, wide, as_json)


@addressed
def user_quota(
    at: Address, name: UserName, set_: Set = None, wide: Wide = False, as_json: AsJSON = False
) -> Exit:
    """Show the quotas of a person in all projects together, or set some."""
    return _quota(at, None, name, set_, wide, as_json)


@addressed
def show_usage(
    at: Address,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help=f"Add up by these: {', '.join(COLUMNS)}.", show_default=False
        ),
    ] = None,
    first: Annotated[
        str | None, typer.Option(metavar="MONTH", help="Such as 2026-01.", show_default=False)
    ] = None,
    last: Annotated[
        str | None, typer.Option(metavar="MONTH", help="Such as 2026-03.", show_default=False)
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write CSV with all digits.")] = False,
    wide: Wide = False,
    as_json: AsJSON = False,
) -> Exit:
    """Show device hours by project, person, kind of device and month.

    They are counted when an attempt ends, in the month of its end (UTC). A job with n IPUs counts n
    times. FAILED is the part of attempts that failed, LOST of those that workers have lost.
    """
    wanted = by or list(COLUMNS)
    for column in wanted:
        if column not in COLUMNS:
            detail = f"must be one of {', '.join(COLUMNS)}; got {column!r}"
            raise InvalidInput([Problem("/by", "invalid_choice", detail)], detail)
    with at.connect() as connection:
        used = connection.usage(*wanted, first=first, last=last)
    shown = [column for column in COLUMNS if column in wanted]
    figures = ("device_hours", "failed_hours", "lost_hours", "attempts")
    if as_csv:
        table = csv.writer(sys.stdout)
        table.writerow([*shown, *figures])
        table.writerows([each.json[name] for name in (*shown, *figures)] for each in used)
        return Exit.OK
    rows = [
        (
            *(str(each.json[name]) for name in shown),
            *(f"{each.json[name]:.2f}" for name in figures[:3]),
            str(each.attempts),
        )
        for each in used
    ]
    headers = [*(name.upper() for name in shown), "HOURS", "FAILED", "LOST", "ATTEMPTS"]
    show_list("usage", [each.json for each in used], headers, rows, as_json, wide)
    return Exit.OK


def _quota(
    at: Address,
    project: str | None,
    user: str | None,
    changes: list[str] | None,
    wide: bool,
    as_json: bool,
) -> Exit:
    limits = dict(_limit(text) for text in changes or ())
    with at.connect() as connection:
        if limits:
            quotas = connection.set_quotas(limits, project, user=user)
        else:
            quotas = connection.quotas(project, user=user)
    if project is not None and user is not None:
        quotas = [each for each in quotas if each.user == user]
    rows = [
        (_whose(each), each.name, f"{each.limit:,}", "" if each.used is None else f"{each.used:,}")
        for each in quotas
    ]
    documents = [each.json for each in quotas]
    show_list("quotas", documents, ["OF", "QUOTA", "LIMIT", "USED"], rows, as_json, wide)
    return Exit.OK


def _whose(quota: QuotaLimit) -> str:
    return quota.user or f"project {quota.project}"


def _limit(text: str) -> tuple[str, int | None]:
    name, _, value = text.partition("=")
    if name not in NAMES:
        detail = f"must be NAME=N with one of {', '.join(NAMES)}; got {text!r}"
        raise InvalidInput([Problem("/set", "invalid_choice", detail)], detail)
    if value == "none":
        return name, None
    try:
        return name, int(value)
    except ValueError:
        detail = f"must be {name}=N with a whole number, or {name}=none; got {text!r}"
        raise InvalidInput([Problem("/set", "int_parsing", detail)], detail) from None
