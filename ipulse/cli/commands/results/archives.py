"""import and verify: archives of jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ipulse.cli.display.uploading import upload_progress
from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, addressed
from ipulse.cli.terminal import emit, say, show, size_text


@addressed
def import_archives(
    at: Address,
    archives: Annotated[
        list[Path],
        typer.Argument(metavar="ARCHIVE...", help="Files of `export archive`.", show_default=False),
    ],
    as_json: AsJSON = False,
) -> Exit:
    """Import jobs that ran on another service.

    Each keeps its id, times, events and files, and is marked as imported. The archives are verified
    first, here and by the service. The same archive twice is one job.
    """
    from ipulse.archives.verification import verify_archive

    for archive in archives:
        verify_archive(archive)
    imported = []
    with at.connect() as connection:
        for archive in archives:
            with upload_progress() as on_progress:
                job = connection.import_archive(archive, on_progress)
            imported.append(job.json)
            if not as_json:
                show(f"imported {job.id}  {job.name}  {job.state.value}")
                say(job.url)
    if as_json:
        emit({"jobs": imported})
    return Exit.OK


def verify(
    archive: Annotated[Path, typer.Argument(metavar="ARCHIVE", help="A file of `export archive`.")],
    as_json: AsJSON = False,
) -> Exit:
    """Check an archive: checksums, spec, and the files of the manifest. Needs no service."""
    from ipulse.archives.verification import verify_archive

    found = verify_archive(archive)
    if as_json:
        emit(vars(found))
        return Exit.OK
    show(f"{found.job_id}  {found.name}  {found.state}")
    show(f"{found.files} files, {size_text(found.size)}, all as they were stored")
    show(f"manifest {found.manifest_sha256 or '(none: the job left no results)'}")
    return Exit.OK
