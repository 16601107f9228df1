"""spec: prints the spec of a job."""

from __future__ import annotations

from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, JobId, addressed
from ipulse.cli.terminal import emit, show


@addressed
def print_spec(
    at: Address,
    job_id: JobId,
    submitted: Annotated[
        bool,
        typer.Option("--submitted", help="The text that was submitted, with its comments."),
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Print the spec of a job as YAML, with every default: `ipulse spec latest > again.yaml`.

    With --json the spec is printed as JSON, and with --submitted and --json its text as JSON.
    """
    with at.connect() as client:
        job_id = client.find_id(job_id)
        if as_json and not submitted:
            emit(client.get(job_id).json["spec"])
            return Exit.OK
        text = client.spec_text(job_id, "submitted" if submitted else "resolved")
    if as_json:
        emit({"text": text})
    else:
        show(text.removesuffix("\n"))
    return Exit.OK
