"""Downloads the files that an attempt begins with: a checkpoint, of another job, custom ops."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ipulse_core.errors import RemoteError
from ipulse_core.worker_faults import errors_name
from ipulse_worker.agent.retry_policy import retry_transfer
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_types import ClaimedJob, OpFile, StartFromFile, StoredCheckpoint

Pause = Callable[[float], bool]  # sleeps between two tries; returns True to end them

# Fixed names: names from the service never become paths.
NAME = "resume.checkpoint"
START_NAME = "start.npz"
PACKAGE_NAME = "package.tar"


def fetch_checkpoint(
    api: ServiceAPI, claim: ClaimedJob, stored: StoredCheckpoint, directory: Path, pause: Pause
) -> Path:
    """Download the checkpoint of an earlier attempt and return its path.

    Raises IPUlseError if the download fails, or the digest is wrong, and OSError if it cannot be
    written.
    """

    def download(file: BinaryIO) -> None:
        api.download(claim.job_id, stored.artifact_id, file)

    return _fetch(download, claim, stored.sha256, directory / NAME, pause)


def fetch_start_file(
    api: ServiceAPI, claim: ClaimedJob, start: StartFromFile, directory: Path, pause: Pause
) -> Path:
    """Download the file of another job that this one starts from, as `fetch_checkpoint`."""

    def download(file: BinaryIO) -> None:
        api.download_start_file(claim.lease, file)

    name = PACKAGE_NAME if start.mode == "package" else START_NAME
    return _fetch(download, claim, start.sha256, directory / name, pause)


def fetch_op(
    api: ServiceAPI, claim: ClaimedJob, op: OpFile, number: int, directory: Path, pause: Pause
) -> Path:
    """Download the package of a custom op, as `fetch_checkpoint`. number: of the op in the job."""

    def download(file: BinaryIO) -> None:
        api.download_op(claim.lease, op.sha256, file)

    return _fetch(download, claim, op.sha256, directory / f"op-{number}.tar", pause)


def _fetch(
    download: Callable[[BinaryIO], None],
    claim: ClaimedJob,
    expected: str,
    path: Path,
    pause: Pause,
) -> Path:
    with errors_name(path), path.open("w+b") as file:
        retry_transfer(lambda: download(file), pause, claim.lease)
        file.seek(0)
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != expected:
        raise RemoteError(f"its content has the digest {sha256} and not {expected}")
    return path
