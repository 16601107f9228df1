"""The call of both clients that imports an archive of a job."""

from __future__ import annotations

from contextlib import suppress

from ipulse.client.datasets import calls as upload_calls
from ipulse.client.datasets.uploads import FileUploads, UploadProgress
from ipulse.client.location import PathLike
from ipulse.client.transport.retries import FOLLOWING
from ipulse_core.errors import Conflict, InvalidInput, IPUlseError

from . import calls
from .resources import Job


class JobArchives(FileUploads):
    """Imports jobs that ran elsewhere."""

    async def import_archive(
        self, path: PathLike, on_progress: UploadProgress | None = None
    ) -> Job:
        """Upload an archive of a job and import it; see Client.import_archive."""
        upload_id, _ = await self._upload(path, "archive", on_progress)
        try:
            job = await self._send(calls.import_archive(upload_id), FOLLOWING * self._retries)
        except (Conflict, InvalidInput):
            await self._forget(upload_id)
            raise
        await self._forget(upload_id)
        return job

    async def _forget(self, upload_id: str) -> None:
        with suppress(IPUlseError):  # the service forgets it after a day
            await self._send(upload_calls.delete_upload(upload_id))
