"""The client for programs that await: the same calls as `Client`, on asyncio and trio.

Files are written between awaits: a block at a time, which a local disk takes at once.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from types import TracebackType
from typing import Any, AsyncIterator, Collection, Dict, List, Optional, Sequence, Type, TypeVar

import anyio
import httpx

from . import calls
from .calls import Call, Spec
from .connection import Patience, options_for, remember
from .downloading import Download, check_names, is_there
from .location import PathLike, find
from .resources import Artifact, Job, JobEvent, ValidSpec
from .retries import FOLLOWING, Retries
from .watching import SILENCE_SECONDS, Watch

T = TypeVar("T")


class AsyncClient:
    """As `Client`: every method does the same and raises the same."""

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        token_file: Optional[PathLike] = None,
        home: Optional[PathLike] = None,
        timeout: float = 30.0,
        retries: int = 4,
    ) -> None:
        service = find(url, token, token_file, home)
        self.url = service.url
        self._timeout = timeout
        self._retries = retries
        self._known: Dict[str, Job] = {}
        self._http = httpx.AsyncClient(**options_for(service, timeout))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def validate(self, spec: Spec) -> ValidSpec:
        """See Client.validate."""
        return await self._send(calls.validate(spec))

    async def submit(self, spec: Spec, idempotency_key: Optional[str] = None) -> Job:
        """See Client.submit."""
        return await self._send(calls.submit(spec, idempotency_key or str(uuid.uuid4())))

    async def get(self, job_id: str) -> Job:
        """See Client.get."""
        job = await self._send(calls.get(job_id, self._known.get(job_id)))
        remember(self._known, job)
        return job

    async def list(self, state: Optional[str] = None, page_size: int = 100) -> AsyncIterator[Job]:
        """See Client.list."""
        token = ""
        while True:
            page = await self._send(calls.list_jobs(state, page_size, token))
            for job in page.jobs:
                yield job
            token = page.next_page_token
            if not token:
                return

    async def cancel(self, job_id: str) -> Job:
        """See Client.cancel."""
        return await self._send(calls.cancel(job_id))

    async def events(
        self, job_id: str, after: int = 0, kinds: Sequence[str] = ()
    ) -> AsyncIterator[JobEvent]:
        """See Client.events."""
        while True:
            page = await self._send(calls.events(job_id, after, kinds))
            for event in page.events:
                yield event
            if page.end or page.next_after <= after:
                return
            after = page.next_after

    async def watch(self, job_id: str, after: int = 0) -> AsyncIterator[JobEvent]:
        """See Client.watch."""
        watch = Watch(job_id, after, Retries(self.url, FOLLOWING * self._retries))
        while not watch.has_ended():
            error: Optional[httpx.TransportError] = None
            delay: Optional[float] = None
            try:
                async with self._http.stream(
                    "GET", watch.path, headers=watch.headers, timeout=SILENCE_SECONDS
                ) as response:
                    if response.status_code != 200:
                        await response.aread()
                    delay = watch.opened(response)
                    if delay is None:
                        async for chunk in response.aiter_bytes():
                            for event in watch.feed(chunk):
                                yield event
                            if watch.has_ended():
                                return
            except httpx.TransportError as caught:
                error = caught
            await anyio.sleep(watch.interrupted(error) if delay is None else delay)

    async def wait(self, job_id: str, timeout: Optional[float] = None) -> Job:
        """See Client.wait."""
        patience = Patience(job_id, timeout, self._timeout)
        while True:
            call = calls.get_ended(job_id, patience.answer_seconds())
            job = await self._send(call, FOLLOWING * self._retries)
            if job.state.is_terminal:
                return job
            await anyio.sleep(patience.pause())

    async def artifacts(self, job_id: str) -> List[Artifact]:
        """See Client.artifacts."""
        return await self._send(calls.artifacts(job_id))

    async def download(
        self, job_id: str, to: PathLike, roles: Optional[Collection[str]] = None
    ) -> List[Path]:
        """See Client.download."""
        listed = await self.artifacts(job_id)
        chosen = [one for one in listed if roles is None or one.role in roles]
        check_names(chosen)
        folder = Path(to)
        folder.mkdir(parents=True, exist_ok=True)
        return [await self._download(job_id, artifact, folder) for artifact in chosen]

    async def profile(self, job_id: str) -> Dict[str, Any]:
        """See Client.profile."""
        return await self._send(calls.profile(job_id))

    async def _download(self, job_id: str, artifact: Artifact, folder: Path) -> Path:
        if is_there(artifact, folder):
            return folder / artifact.name
        retries = Retries(self.url, FOLLOWING * self._retries)
        with Download(job_id, artifact, folder, retries) as download:
            while not download.complete:
                error: Optional[httpx.TransportError] = None
                delay: Optional[float] = None
                try:
                    async with self._http.stream(
                        "GET", download.url_path, headers=download.headers
                    ) as response:
                        if response.status_code not in (200, 206):
                            await response.aread()
                        delay = download.opened(response)
                        if delay is None:
                            async for chunk in response.aiter_raw():
                                download.write(chunk)
                except httpx.TransportError as caught:
                    error = caught
                if not download.complete:
                    pause = download.interrupted(error) if delay is None else delay
                    await anyio.sleep(pause)
            return download.finish()

    async def _send(self, call: Call[T], tries: Optional[int] = None) -> T:
        retries = Retries(self.url, self._retries if tries is None else tries)
        while True:
            try:
                response = await self._http.request(
                    call.method,
                    call.path,
                    params=call.params,
                    headers=call.headers,
                    content=call.content,
                )
            except httpx.TransportError as error:
                await anyio.sleep(retries.after_error(error))
                continue
            delay = retries.after_answer(response)
            if delay is None:
                return call.answer(response)
            await anyio.sleep(delay)
