"""Uploads of files to the service, with resumption after a cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from ipulse.client import datasets
from ipulse.client.location import PathLike
from ipulse.client.transport.problems import error_in
from ipulse.client.transport.retries import UPLOADING, RetryPolicy
from ipulse.outgoing_file import OutgoingFile
from ipulse_core.errors import RemoteError

from .call_sender import AsyncCallSender

if TYPE_CHECKING:
    from ipulse.client.datasets.resources import DatasetUpload, UploadProgress

UPLOAD_SECONDS = 600.0  # that the service may take to verify and store the last bytes


class AsyncFileUploads(AsyncCallSender):
    """Sends files; each digest is sent once."""

    async def _upload(
        self, path: PathLike, purpose: str, on_progress: UploadProgress | None
    ) -> tuple[str, str]:
        """Return the id of the upload of a whole file, and the file's SHA-256."""
        with Path(path).open("rb") as content:
            file = OutgoingFile(content, Path(path).stat().st_size)
            upload = await self._send(datasets.calls.start_upload(file.size, file.sha256, purpose))
            await self._send_content(file, upload, on_progress or _ignore)
        return upload.id, file.sha256

    async def _send_content(
        self, file: OutgoingFile, upload: DatasetUpload, on_progress: UploadProgress
    ) -> None:
        """Sends what is missing; after a cut, from where the service has it."""
        tries = UPLOADING * self._retries
        retries = RetryPolicy(self.url, tries)
        while not upload.complete:
            on_progress(upload.offset, upload.size)
            error: httpx.TransportError | None = None
            delay: float | None = 0.0
            try:
                response = await self._transport.request(
                    "PATCH",
                    datasets.calls.upload_path(upload.id),
                    content=_reported(file, upload.offset, on_progress),
                    headers={
                        "Upload-Offset": str(upload.offset),
                        "Content-Type": "application/octet-stream",
                        "Content-Length": str(file.size - upload.offset),
                    },
                    timeout=UPLOAD_SECONDS,
                )
            except httpx.TransportError as caught:
                error = caught
                delay = retries.after_error(error)
            else:
                delay = _delay_of(response, retries)
            if delay:
                await self._transport.sleep(delay)
            before, upload = upload, await self._send(datasets.calls.get_upload(upload.id), tries)
            if upload.offset > before.offset:
                retries.progressed()
        on_progress(upload.size, upload.size)


def _delay_of(response: httpx.Response, retries: RetryPolicy) -> float:
    """Return the seconds until the next try, 0 if the bytes have arrived. Raises other errors."""
    if response.is_success:
        return 0.0
    delay = retries.after_answer(response)
    if delay is not None:
        return delay
    error = error_in(response)
    if isinstance(error, RemoteError) or response.status_code != 409:
        raise error
    return retries.after_error(None)  # another program sends the same file


def _reported(file: OutgoingFile, offset: int, on_progress: UploadProgress) -> Iterator[bytes]:
    for chunk in file.body(offset):
        yield chunk
        offset += len(chunk)
        on_progress(offset, file.size)


def _ignore(_sent: int, _size: int) -> None:
    """Report nothing."""
