"""open: the page of a job, or of all jobs, in a browser."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from ipulse.cli.completing import complete_job
from ipulse.cli.exits import Exit
from ipulse.cli.newest_job import find_newest
from ipulse.cli.options import JOB_HELP, Address, AsJSON, addressed
from ipulse.cli.pages import sign_in_address
from ipulse.cli.terminal import emit, say, show


@addressed
def open_page(
    at: Address,
    job_id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            help=f"{JOB_HELP} [default: the list of jobs]",
            show_default=False,
            autocompletion=complete_job,
        ),
    ] = None,
    only_print: Annotated[
        bool, typer.Option("--print", help="Only print the address that signs in; open nothing.")
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Open the page of a job, or the list of jobs, in a browser, and print its address.

    The browser is signed in with a code that works once, within ten minutes. With --print, and with
    --json, nothing is opened: the address with the code is printed, for a browser elsewhere.
    """
    with at.connect() as connection:
        job = f"/{find_newest(connection, job_id).id}" if job_id else ""
        path = f"/jobs{job}"
        address = f"{connection.url.rstrip('/')}{path}"
        signing_in = sign_in_address(connection, path)
    if as_json:
        emit({"url": address, "sign_in_url": signing_in})
        return Exit.OK
    if only_print:
        show(signing_in)
        return Exit.OK
    show(address)
    if not _open(signing_in):
        say(f"No browser was found; open this in one of your own: {signing_in}")
    return Exit.OK


def _open(address: str) -> bool:
    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
