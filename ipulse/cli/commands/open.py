"""open: the page of a job, or of all jobs, in a browser."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from ipulse.cli.completing import complete_job
from ipulse.cli.exits import Exit
from ipulse.cli.job_reference import find_job
from ipulse.cli.options import JOB_HELP, Address, AsJSON, addressed
from ipulse.cli.pages import job_address
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
        bool, typer.Option("--print", help="Only print the address; open nothing.")
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Open the page of a job, or the list of jobs, in a browser, and print its address.

    The page asks for the token, which is not a part of the address. Where there is no browser, and
    with --json, the address is only printed.
    """
    with at.connect() as client:
        if job_id is None:
            address = f"{client.url.rstrip('/')}/"
        else:
            address = job_address(client, client.get(find_job(client, job_id)).id)
    if as_json:
        emit({"url": address})
        return Exit.OK
    show(address)
    if not only_print and not _open(address):
        say("No browser was found; open the address in one of your own.")
    return Exit.OK


def _open(address: str) -> bool:
    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
