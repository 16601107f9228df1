"""Downloads the checkpoint of an earlier attempt, from which the next one resumes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ipulse_core.errors import RemoteError
from ipulse_core.worker_faults import errors_name
from ipulse_worker.agent.retry_policy import retry_while_unavailable
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_types import ClaimedJob, StoredCheckpoint

NAME = "resume.checkpoint"  # a fixed name: names from the service never become paths


def fetch_checkpoint(
    api: ServiceAPI, claim: ClaimedJob, stored: StoredCheckpoint, directory: Path
) -> Path:
    """Download the checkpoint and return its path.

    Raises IPUlseError if the download fails, or the digest is wrong, and OSError if it cannot be
    written.
    """
    path = directory / NAME
    with errors_name(path), path.open("w+b") as file:
        retry_while_unavailable(
            lambda: api.download(claim.job_id, stored.artifact_id, file),
            claim.lease.wait_for_loss,
        )
        file.seek(0)
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != stored.sha256:
        raise RemoteError(f"its content has the digest {sha256} and not {stored.sha256}")
    return path
