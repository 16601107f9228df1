"""What a client says to the service and what it makes of the answers, over any transport.

Files are written between awaits: a block at a time, which a local disk takes at once.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any, AsyncGenerator, Collection, Dict, List, Optional, Sequence, TypeVar

import httpx

from . import calls
from .calls import Call, Spec
from .connection import Patience, remember
from .downloading import Download, check_names, is_there
from .location import PathLike
from .resources import Artifact, Job, JobEvent, Token, ValidSpec
from .retries import FOLLOWING, Retries
from .transports import Transport
from .watching import SILENCE_SECONDS, Watch

T = TypeVar("T")


class Conversation:
    """All the calls of both clients; errors are those of ipulse_core.errors."""

    def __init__(self, url: str, transport: Transport, timeout: float, retries: int) -> None:
        self.url = url
        self._transport = transport
        self._timeout = timeout
        self._retries = retries
        self._known: Dict[str, Job] = {}

    async def close(self) -> None:
        await self._transport.close()

    async def ready(self) -> None:
        """Returns if work can flow through the service. Raises Unavailable otherwise."""
        await self._send(calls.ready())

    async def validate(self, spec: Spec) -> ValidSpec:
        """See Client.validate."""
        return await self._send(calls.validate(spec))

    async def submit(
        self,
        spec: Spec,
        idempotency_key: Optional[str] = None,
        *,
        priority: Optional[int] = None,
        queue_seconds: Optional[int] = None,
        run_seconds: Optional[int] = None,
        total_seconds: Optional[int] = None,
    ) -> Job:
        """Starts a job from a spec, a dict, or the path of a YAML or JSON file.

        Without a key a fresh one is made, so that a retry never starts a second job; pass your
        own to make repeated *runs of your program* safe too. Of two jobs the one of greater
        priority goes first; one that waits, runs or takes longer than its limit fails.
        Raises InvalidSpec, and InvalidInput for a key that is none.
        """
        wishes = {
            "priority": priority,
            "queue_seconds": queue_seconds,
            "run_seconds": run_seconds,
            "total_seconds": total_seconds,
        }
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        return await self._send(calls.submit(spec, key, wishes))

    async def get(self, job_id: str) -> Job:
        """The job as it is now. Raises NotFound."""
        job = await self._send(calls.get(job_id, self._known.get(job_id)))
        remember(self._known, job)
        return job

    async def list(
        self, state: Optional[str] = None, page_size: int = 100
    ) -> AsyncGenerator[Job, None]:
        """Every job, newest first, fetched page by page; without their specs."""
        token = ""
        while True:
            page = await self._send(calls.list_jobs(state, page_size, token))
            for job in page.jobs:
                yield job
            token = page.next_page_token
            if not token:
                return

    async def cancel(self, job_id: str) -> Job:
        """Asks the job to stop; a job that has ended stays as it is. Raises NotFound."""
        return await self._send(calls.cancel(job_id))

    async def pause(self, job_id: str) -> Job:
        """Stops the job for now, at a checkpoint if it has begun. Raises Conflict, NotFound."""
        return await self._send(calls.pause(job_id))

    async def resume(self, job_id: str) -> Job:
        """Queues a paused job again; it goes on from its checkpoint. Raises Conflict, NotFound."""
        return await self._send(calls.resume(job_id))

    async def delete(self, job_id: str) -> None:
        """Removes a job that has ended, with its files. Raises Conflict, NotFound."""
        await self._send(calls.delete(job_id))

    async def events(
        self, job_id: str, after: int = 0, kinds: Sequence[str] = ()
    ) -> AsyncGenerator[JobEvent, None]:
        """The events so far, after number `after`, of all kinds unless some are named."""
        while True:
            page = await self._send(calls.events(job_id, after, kinds))
            for event in page.events:
                yield event
            if page.end or page.next_after <= after:
                return
            after = page.next_after

    async def watch(self, job_id: str, after: int = 0) -> AsyncGenerator[JobEvent, None]:
        """Events as they happen, until the job has ended; goes on where a connection broke."""
        watch = Watch(job_id, after, Retries(self.url, FOLLOWING * self._retries))
        while not watch.has_ended():
            error: Optional[httpx.TransportError] = None
            delay: Optional[float] = None
            try:
                async with self._transport.stream(
                    watch.path, raw=False, headers=watch.headers, timeout=SILENCE_SECONDS
                ) as (response, chunks):
                    delay = watch.opened(response)
                    if delay is None:
                        async for chunk in chunks:
                            for event in watch.feed(chunk):
                                yield event
                            if watch.has_ended():
                                return
            except httpx.TransportError as caught:
                error = caught
            await self._transport.sleep(watch.interrupted(error) if delay is None else delay)

    async def wait(self, job_id: str, timeout: Optional[float] = None) -> Job:
        """The job once it has ended. Raises TimeoutError after `timeout` seconds."""
        patience = Patience(job_id, timeout, self._timeout)
        while True:
            call = calls.get_ended(job_id, patience.answer_seconds())
            job = await self._send(call, FOLLOWING * self._retries, patience)
            if job.state.is_terminal:
                return job
            await self._transport.sleep(patience.pause())

    async def artifacts(self, job_id: str) -> List[Artifact]:
        """The files of the job's official attempt."""
        return await self._send(calls.artifacts(job_id))

    async def download(
        self, job_id: str, to: PathLike, roles: Optional[Collection[str]] = None
    ) -> List[Path]:
        """Fetches the job's artifacts into a folder, all of them or those of some roles.

        Each is verified by its SHA-256 before it gets its name; one that is there already is
        not fetched again. Raises RemoteError for content that is not what was announced.
        """
        listed = await self.artifacts(job_id)
        chosen = [one for one in listed if roles is None or one.role in roles]
        check_names(chosen)
        folder = Path(to)
        if chosen:
            folder.mkdir(parents=True, exist_ok=True)
        return [await self._download(job_id, artifact, folder) for artifact in chosen]

    async def profile(self, job_id: str) -> Dict[str, Any]:
        """The job's profile.json. Raises NotFound before there is one."""
        return await self._send(calls.profile(job_id))

    async def create_token(self, name: str, role: str, seconds: int) -> Token:
        """See Client.create_token."""
        # Not repeated: an answer that got lost would leave a token behind that nobody knows.
        return await self._send(calls.create_token(name, role, seconds), tries=0)

    async def tokens(self) -> List[Token]:
        """Every token that was handed out and not revoked, without the secrets."""
        return await self._send(calls.tokens())

    async def revoke_token(self, token_id: str) -> None:
        """Makes a token worthless. Raises NotFound."""
        await self._send(calls.revoke_token(token_id))

    async def _download(self, job_id: str, artifact: Artifact, folder: Path) -> Path:
        if is_there(artifact, folder):
            return folder / artifact.name
        retries = Retries(self.url, FOLLOWING * self._retries)
        with Download(job_id, artifact, folder, retries) as download:
            while not download.complete:
                error: Optional[httpx.TransportError] = None
                delay: Optional[float] = None
                try:
                    async with self._transport.stream(
                        # To the store's own address, which httpx does not tell the token.
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

    async def _send(
        self, call: Call[T], tries: Optional[int] = None, patience: Optional[Patience] = None
    ) -> T:
        retries = Retries(self.url, self._retries if tries is None else tries)
        while True:
            try:
                response = await self._transport.request(
                    call.method,
                    call.path,
                    params=call.params,
                    headers=call.headers,
                    content=call.content,
                )
            except httpx.TransportError as error:
                delay = retries.after_error(error)
            else:
                asked = retries.after_answer(response)
                if asked is None:
                    return call.answer(response)
                delay = asked
            await self._transport.sleep(delay if patience is None else patience.pause(delay))
