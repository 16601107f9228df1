"""The calls of both clients about results of jobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import httpx

from ipulse.client.location import PathLike
from ipulse.client.transport.call_sender import CallSender
from ipulse.client.transport.retries import FOLLOWING, RetryPolicy
from ipulse_core.errors import NotFound

from . import calls
from .comparison import compare as compare_jobs
from .curves import MetricCurve
from .curves import curves as metric_curves
from .downloading import Download, check_names, is_downloaded
from .resources import Artifact


class JobResults(CallSender):
    """The calls about metrics and files of jobs."""

    async def curves(
        self,
        job_ids: Sequence[str],
        names: Sequence[str] = (),
        *,
        scope: str = "epoch",
        x: str = "epoch",
        begin: float | None = None,
        end: float | None = None,
        points: int = 1000,
    ) -> list[MetricCurve]:
        """Return curves of metrics of jobs; see Client.curves."""
        call = metric_curves(job_ids, names, scope, x, (begin, end), points)
        return await self._send(call)

    async def compare(
        self,
        job_ids: Sequence[str] | None = None,
        *,
        query: str | None = None,
        columns: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
        group_by: Sequence[str] | None = None,
        left_out: Sequence[str] = ("seed",),
    ) -> dict[str, Any]:
        """Compare jobs; see Client.compare."""
        chosen = {
            "columns": columns,
            "metrics": metrics,
            "group_by": group_by,
            "except": left_out,
        }
        return await self._send(compare_jobs(job_ids, query, chosen))

    async def artifacts(self, job_id: str) -> list[Artifact]:
        """Return the files of the job's official attempt."""
        return await self._send(calls.artifacts(job_id))

    async def download(
        self, job_id: str, to: PathLike, roles: Collection[str] | None = None
    ) -> list[Path]:
        """Download the job's files to a folder; see Client.download."""
        listed = await self.artifacts(job_id)
        chosen = [file for file in listed if roles is None or file.role in roles]
        check_names(chosen)
        folder = Path(to)
        if chosen:
            folder.mkdir(parents=True, exist_ok=True)
        return [await self._download(job_id, artifact, folder) for artifact in chosen]

    async def download_file(self, job_id: str, name: str, to: PathLike) -> Path:
        """Download one of the job's files to a folder, as `download` does. Raises NotFound."""
        listed = await self.artifacts(job_id)
        check_names(listed)
        for artifact in listed:
            if artifact.name == name:
                Path(to).mkdir(parents=True, exist_ok=True)
                return await self._download(job_id, artifact, Path(to))
        names = ", ".join(artifact.name for artifact in listed) or "none yet"
        raise NotFound(f"the job has no file {name[:100]!r}; its files: {names}")

    async def profile(self, job_id: str) -> dict[str, Any]:
        """Return the job's profile.json. Raises NotFound before it exists."""
        return await self._send(calls.profile(job_id))

    async def _download(self, job_id: str, artifact: Artifact, folder: Path) -> Path:
        if is_downloaded(artifact, folder):
            return folder / artifact.name
        retries = RetryPolicy(self.url, FOLLOWING * self._retries)
        with Download(job_id, artifact, folder, retries) as download:
            while not download.complete:
                error: httpx.TransportError | None = None
                delay: float | None = None
                try:
                    async with self._transport.stream(
                        # A redirect to an object store; httpx does not send it the token.
                        download.url_path,
                        raw=True,
                        headers=download.headers,
                        follow_redirects=True,
                    ) as (response, chunks):
                        delay = download.opened(response)
                        if delay is None:
                            async for chunk in chunks:
                                download.write(chunk)
                except httpx.TransportError as caught:
                    error = caught
                if not download.complete:
                    pause = download.interrupted(error) if delay is None else delay
                    await self._transport.sleep(pause)
            return download.finish()
