"""profile: the time and memory that a job used, and the difference of two profiles."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from ipulse.cli.display.profile_page import difference_lines, profile_lines, tile_lines
from ipulse.cli.exits import Exit
from ipulse.cli.newest_job import find_newest
from ipulse.cli.options import Address, AsJSON, JobId, addressed
from ipulse.cli.terminal import emit, say, show
from ipulse.client import JobHandle
from ipulse_core.errors import InvalidInput, NotFound, Problem
from ipulse_core.pva.conditions import Condition, parse_condition
from ipulse_core.pva.difference import ProfileDifference, unlike_targets
from ipulse_core.pva.figures import FIGURES
from ipulse_core.pva.report import Report, open_report
from ipulse_core.spec.job_kinds import CODE_KINDS
from ipulse_core.worker_faults import errors_name

_ROLE = "poplar_profile"  # of the file with the profile of tiles


@addressed
def profile(
    at: Address,
    job_id: JobId,
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save profile.json here instead.")
    ] = None,
    as_json: AsJSON = False,
) -> Exit:
    """Show the time and memory that a job used, and its tiles. With --json the whole profile.json.

    The part about tiles is shown for jobs on emulator and IPU.
    """
    with at.connect() as connection:
        found = find_newest(connection, job_id)
        profile_json, has_times = _job_profile(found)
        tiles = None if as_json or to is not None else _job_report(found)
    if to is not None:
        with errors_name(to):
            to.write_text(json.dumps(profile_json, indent=1) + "\n", encoding="utf-8")
    if as_json:
        emit(profile_json)
    elif to is not None:
        show(str(to))
    else:
        for line in profile_lines(profile_json) if has_times else ():
            show(line)
        for line in tile_lines(tiles) if isinstance(tiles, Report) else ():
            show(line)
    return Exit.OK


_REFERENCE = "Job, or file with the profile of a Poplar program."


@addressed
def profile_diff(
    at: Address,
    before: Annotated[
        str, typer.Argument(metavar="A", help=f"{_REFERENCE} The baseline.", show_default=False)
    ],
    after: Annotated[str, typer.Argument(metavar="B", help=_REFERENCE, show_default=False)],
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Exit with code 1 if this holds, such as 'cycles>+5%' or "
            f"'max_tile_memory>600KiB'; may be repeated. Figures: {', '.join(FIGURES)}.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Compare also profiles of unlike targets.")
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Compare the profiles of two Poplar programs by program, layer and tile.

    A and B are jobs on emulator or IPU, or files: poplar_profile.json of a job, profile.json of
    `ipulse emulate --profile`.
    """
    conditions = _conditions(fail_if or [])
    reports = [_report(at, reference) for reference in (before, after)]
    unlike = unlike_targets(*reports)
    if unlike and not force:
        detail = f"the targets differ ({'; '.join(unlike)}): --force compares them anyway"
        raise InvalidInput([Problem("/b", "unlike_targets", detail)], "the profiles are not alike")
    difference = ProfileDifference(*reports)
    broken = [c.text for c in conditions if _holds(c, difference)]
    if as_json:
        emit({**difference.to_json(), "failed": broken})
    else:
        for line in difference_lines(difference):
            show(line)
    for text in broken:
        say(f"{text} holds", style="red")
    return Exit.JOB_FAILED if broken else Exit.OK


def _conditions(texts: list[str]) -> list[Condition]:
    try:
        return [parse_condition(text, changes=True) for text in texts]
    except ValueError as error:
        problem = Problem("/fail_if", "invalid_condition", str(error))
        raise InvalidInput([problem], "wrong condition") from error


def _holds(condition: Condition, difference: ProfileDifference) -> bool:
    before = difference.before.get(condition.figure)
    after = difference.after.get(condition.figure)
    if after is None or (condition.is_change and before is None):
        detail = f"{condition.text}: a profile does not have {condition.figure}: nothing ran"
        raise InvalidInput([Problem("/fail_if", "missing_figure", detail)], "wrong condition")
    return condition.holds(after, before)


def _report(at: Any, reference: str) -> Any:
    if Path(reference).is_file():
        return open_report(reference)
    with at.connect() as connection:
        report = _job_report(find_newest(connection, reference))
    if report is None:
        detail = "it has no profile of tiles: only completed jobs on emulator and IPU do"
        raise NotFound(f"{reference}: {detail}")
    return report


def _job_profile(job: JobHandle) -> tuple[dict[str, Any], bool]:
    """Return profile.json and True; of a program or script, the profile of its tiles and False."""
    try:
        return job.profile().json, True
    except NotFound:
        if job.spec.get("kind") not in CODE_KINDS:
            raise
        with tempfile.TemporaryDirectory(prefix="ipulse-profile-") as folder:
            for path in job.download(folder, [_ROLE]):
                return json.loads(path.read_bytes()), False
        raise


def _job_report(job: JobHandle) -> Any:
    """Return the job's report of its tiles, or None."""
    with tempfile.TemporaryDirectory(prefix="ipulse-profile-") as folder:
        paths = job.download(folder, [_ROLE])
        documents = [path for path in paths if path.suffix == ".json"]
        return open_report(documents[0]) if documents else None
