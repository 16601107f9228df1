"""Files on their way to the service and from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import httpx

from ipulse.outgoing_file import OutgoingFile
from ipulse_core.messages import FENCE_HEADER
from ipulse_worker.agent.connections import Connections
from ipulse_worker.agent.service_responses import object_in, raise_refusal, understood
from ipulse_worker.agent.supervision.lease import AttemptLease

_CHUNK_BYTES = 2**20
_DOWNLOAD_TIMEOUT = httpx.Timeout(60.0, connect=3.0)
# The service answers once the file is stored, and a bucket may be slow. Heartbeats detect a service
# that is down.
_UPLOAD_TIMEOUT = httpx.Timeout(60.0, connect=3.0, read=600.0)


class FileTransfers:
    """Uploads and downloads of one client."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def upload(
        self, lease: AttemptLease, file: OutgoingFile, *, name: str, role: str, media_type: str
    ) -> str:
        """Upload the rest of the file; return the SHA-256 of what is stored."""
        path = f"/v1/worker/attempts/{lease.attempt_id}/artifacts/{name}"
        params = {
            "role": role,
            "media_type": media_type,
            "size": file.size,
            "sha256": file.sha256,
        }
        offset = self._arrived(path, params, lease) if file.is_resumable else 0
        headers = {FENCE_HEADER: lease.fence, "Content-Length": str(file.size - offset)}
        if offset:
            headers["Upload-Offset"] = str(offset)
        response = self._connections.request(
            "PATCH" if offset else "PUT",
            path,
            params=params,
            headers=headers,
            content=file.body(offset),
            timeout=_UPLOAD_TIMEOUT,
        )
        with understood(path):
            return str(object_in(response, path)["sha256"])

    def _arrived(self, path: str, params: dict[str, Any], lease: AttemptLease) -> int:
        """Return how many bytes the service has already, 0 if it does not know."""
        with self._connections.use() as http:
            response = http.head(path, params=params, headers={FENCE_HEADER: lease.fence})
        return int(response.headers.get("Upload-Offset", 0)) if response.is_success else 0

    def download(self, job_id: str, artifact_id: str, into: BinaryIO) -> None:
        """Download an artifact into a file, from the file's beginning."""
        self._download(f"/v1/jobs/{job_id}/artifacts/{artifact_id}/content", {}, into)

    def download_start_file(self, lease: AttemptLease, into: BinaryIO) -> None:
        """Download the file that the job starts from into a file, from the file's beginning."""
        headers = {FENCE_HEADER: lease.fence}
        self._download(f"/v1/worker/attempts/{lease.attempt_id}/start-file", headers, into)

    def download_op(self, lease: AttemptLease, sha256: str, into: BinaryIO) -> None:
        """Download the package of a custom op into a file, from the file's beginning."""
        headers = {FENCE_HEADER: lease.fence}
        self._download(f"/v1/worker/attempts/{lease.attempt_id}/ops/{sha256}", headers, into)

    def download_dataset(
        self, lease: AttemptLease, into: BinaryIO, on_chunk: Callable[[], None]
    ) -> None:
        """Download the rest of the data set of the attempt's job to the end of a file.

        `on_chunk` is called after each piece and may raise to stop.
        """
        offset = into.seek(0, os.SEEK_END)
        headers = {FENCE_HEADER: lease.fence}
        if offset:
            headers["Range"] = f"bytes={offset}-"
        with self._stream(f"/v1/worker/attempts/{lease.attempt_id}/dataset", headers) as response:
            if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # all of it was there
            raise_refusal(response)
            if response.status_code != httpx.codes.PARTIAL_CONTENT:
                into.seek(0)
                into.truncate()
            for chunk in response.iter_bytes(_CHUNK_BYTES):
                into.write(chunk)
                on_chunk()

    def _download(self, path: str, headers: dict[str, str], into: BinaryIO) -> None:
        into.seek(0)
        into.truncate()
        with self._stream(path, headers) as response:
            raise_refusal(response)
            for chunk in response.iter_bytes(_CHUNK_BYTES):
                into.write(chunk)

    @contextmanager
    def _stream(self, path: str, headers: dict[str, str]) -> Iterator[httpx.Response]:
        """Yield a response; the content of an error is read already."""
        with (
            self._connections.use() as http,
            http.stream(
                "GET", path, headers=headers, timeout=_DOWNLOAD_TIMEOUT, follow_redirects=True
            ) as response,
        ):
            if response.is_error:
                response.read()
            yield response
