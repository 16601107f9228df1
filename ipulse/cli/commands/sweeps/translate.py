"""sweep import: sweeps of other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import AsJSON
from ipulse.cli.terminal import emit, say, show
from ipulse.spec.document.yaml_writer import yaml_text
from ipulse.sweeps.foreign_file import translate
from ipulse_core.worker_faults import errors_name


def import_sweep(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A sweep of W&B, or an experiment of Determined, in YAML or JSON.",
            show_default=False,
        ),
    ],
    spec: Annotated[
        Path,
        typer.Option(metavar="SPEC", help="The spec of every trial.", show_default=False),
    ],
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the sweep here. [default: print it]")
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Translate a sweep of W&B or Determined, and say what has no counterpart.

    Names of hyperparameters are the ends of fields of the spec, such as learning_rate or
    optimizer.learning_rate. The result is a file for `ipulse sweep run`; no service is needed.
    """
    sweep, remarks = translate(file, spec)
    if to is not None:
        with errors_name(to):
            to.write_text(yaml_text(sweep) if not as_json else json.dumps(sweep, indent=2) + "\n")
    if as_json:
        emit({"sweep": sweep, "remarks": remarks})
        return Exit.OK
    for remark in remarks:
        say(remark, style="yellow")
    if to is None:
        show(yaml_text(sweep).removesuffix("\n"))
    else:
        show(f"{to} is written.")
        say(f"Run it: `ipulse sweep run {to}`")
    return Exit.OK
