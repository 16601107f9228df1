"""Exports jobs of a service to one of the targets."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from ipulse.client import JobHandle

from . import archive, tables, tensorboard, wandb
from .mlflow import MLflowExport
from .record import JobRecord, record_of
from .targets import Target


def export_jobs(
    jobs: Sequence[JobHandle], target: Target, to: str, with_files: bool
) -> Iterator[str]:
    """Export jobs one after the other and yield what was written.

    Args:
        jobs: The jobs.
        target: The program to export to.
        to: A folder; for MLflow the address of a server or of its database.
        with_files: Whether MLflow and W&B get the files of the jobs.
    """
    if target in ("csv", "parquet"):
        form: Literal["csv", "parquet"] = "csv" if target == "csv" else "parquet"
        records = [record_of(job) for job in jobs]
        yield from map(str, tables.write_tables(records, Path(to), form))
        return
    server = MLflowExport(to) if target == "mlflow" else None
    for job in jobs:
        record = record_of(job)
        with tempfile.TemporaryDirectory(prefix="ipulse-") as name:
            folder = Path(name)
            if target == "tensorboard":
                read = partial(read_file, job, folder)
                yield str(tensorboard.write_events(record, Path(to), read))
            elif target == "archive":
                yield str(_archived(job, record, folder, Path(to)))
            else:
                files = job.download(folder) if with_files else []
                if server is not None:
                    yield f"{to} run {server.write(record, files)}"
                else:
                    yield str(wandb.write_run(record, Path(to), files))


def _archived(job: JobHandle, record: JobRecord, folder: Path, to: Path) -> Path:
    files = {path.name: path for path in job.download(folder)}
    return archive.write_archive(record, job.events(), files, to)


def read_file(job: JobHandle, folder: Path, name: str) -> bytes:
    """Return the content of a job's file, which is downloaded to a folder."""
    return job.download_file(name, folder).read_bytes()
