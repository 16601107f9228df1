"""audit: who did what, and whether the log is whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from ipulse.audit_chain import BrokenChain, check
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, Wide, addressed
from ipulse.cli.tables import show_list
from ipulse.cli.terminal import emit, say, second_text, show
from ipulse.client import Connection
from ipulse.times import time_of

PAGE = 1000


@addressed
def list_audit_log(
    at: Address,
    actor: Annotated[
        str | None, typer.Option(metavar="USER", help="Only what this person did.")
    ] = None,
    action: Annotated[
        str | None,
        typer.Option(metavar="ACTION", help="Only actions that begin so: job., token.create."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="ID", help="Only about the object of this id or name.")
    ] = None,
    after: Annotated[int, typer.Option(min=0, help="Only entries after this number.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=PAGE, help="Entries, at most.")] = 100,
    wide: Wide = False,
    as_json: AsJSON = False,
) -> Exit:
    """Show who did what, in order. For administrators."""
    with at.connect() as connection:
        page = connection.audit_log(after, limit, actor=actor, action=action, target=target)
    rows = [
        (
            str(entry["number"]),
            second_text(time_of(entry["shown_time"])),
            entry["actor"],
            entry["action"],
            entry["target"],
            entry["project"] or "",
            entry["detail"],
        )
        for entry in page.entries
    ]
    headers = ["NUMBER", "TIME", "USER", "ACTION", "OBJECT", "PROJECT", "DETAIL"]
    show_list("entries", page.entries, headers, rows, as_json, wide)
    if not page.end and not as_json:
        say(f"more with --after {page.next_after}")
    return Exit.OK


@addressed
def verify_audit_log(at: Address, as_json: AsJSON = False) -> Exit:
    """Compute the digests of all entries of the audit log again. Exit code 2: it was changed.

    Keep the number and digest that it prints: a log that was cut at its end verifies, too, and then
    has a smaller number.
    """
    try:
        with at.connect() as connection:
            number, digest = check(_all(connection))
    except BrokenChain as error:
        if as_json:
            emit({"whole": False, "number": error.number, "problem": str(error)})
        else:
            say(f"the audit log was changed: {error}; compare it with the log in a backup")
        return Exit.INVALID
    if as_json:
        emit({"whole": True, "number": number, "sha256": digest})
    else:
        show(f"{number:,} entries are whole; the last has the digest {digest}")
    return Exit.OK


def _all(connection: Connection) -> Iterator[dict[str, Any]]:
    after, is_over = 0, False
    while not is_over:
        page = connection.audit_log(after, PAGE)
        yield from page.entries
        after, is_over = page.next_after, page.end
