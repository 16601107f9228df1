"""Arguments and options that several commands share, and the client they lead to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from ipulse.client import Client

JobId = Annotated[str, typer.Argument(metavar="ID", help="Id of the job.", show_default=False)]
SpecPath = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="The spec as YAML or JSON; - reads standard input.",
        show_default=False,
        allow_dash=True,
    ),
]
AsJSON = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
URL = Annotated[
    Optional[str],
    typer.Option(metavar="URL", help="Address of the service. [env: IPULSE_URL]"),
]
TokenFile = Annotated[
    Optional[Path],
    typer.Option(metavar="FILE", help="File with the token. [env: IPULSE_TOKEN_FILE]"),
]
Home = Annotated[
    Optional[Path],
    typer.Option(
        metavar="DIR",
        help="Where `ipulse up` keeps its state. [env: IPULSE_HOME] "
        "[default: ~/.local/state/ipulse]",
    ),
]


def connect(url: Optional[str], token_file: Optional[Path], home: Optional[Path]) -> Client:
    """A client; raises what ipulse.client.location.find raises."""
    return Client(url, token_file=token_file, home=home)
