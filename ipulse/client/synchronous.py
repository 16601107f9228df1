"""The client for ordinary programs."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any, Collection, Dict, Iterator, List, Optional, Sequence, Type, TypeVar

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


class Client:
    """Submits jobs, follows them and fetches what they leave.

    Finds the service by its arguments, the environment (IPULSE_URL, IPULSE_TOKEN,
    IPULSE_TOKEN_FILE) or the home of `ipulse up`. Calls are repeated up to `retries` times
    while the service is away, twice as often where a job is followed or a file fetched;
    `timeout` (seconds) is for each answer to begin. Errors are those
    of ipulse.errors. Close it, or use it as a context manager.
    """

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
        self._http = httpx.Client(**options_for(service, timeout))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def validate(self, spec: Spec) -> ValidSpec:
        """What the service makes of a spec, without running it. Raises InvalidSpec."""
        return self._send(calls.validate(spec))

    def submit(self, spec: Spec, idempotency_key: Optional[str] = None) -> Job:
        """Starts a job from a spec, a dict, or the path of a YAML or JSON file.

        Without a key a fresh one is made, so that a retry never starts a second job; pass your
        own to make repeated *runs of your program* safe too. Raises InvalidSpec.
        """
        return self._send(calls.submit(spec, idempotency_key or str(uuid.uuid4())))

    def get(self, job_id: str) -> Job:
        """The job as it is now. Raises NotFound."""
        job = self._send(calls.get(job_id, self._known.get(job_id)))
        remember(self._known, job)
        return job

    def list(self, state: Optional[str] = None, page_size: int = 100) -> Iterator[Job]:
        """Every job, newest first, fetched page by page; without their specs."""
        token = ""
        while True:
            page = self._send(calls.list_jobs(state, page_size, token))
            yield from page.jobs
            token = page.next_page_token
            if not token:
                return

    def cancel(self, job_id: str) -> Job:
        """Asks the job to stop; a job that has ended stays as it is. Raises NotFound."""
        return self._send(calls.cancel(job_id))

    def events(self, job_id: str, after: int = 0, kinds: Sequence[str] = ()) -> Iterator[JobEvent]:
        """The events so far, after number `after`, of all kinds unless some are named."""
        while True:
            page = self._send(calls.events(job_id, after, kinds))
            yield from page.events
            if page.end or page.next_after <= after:
                return
            after = page.next_after

    def watch(self, job_id: str, after: int = 0) -> Iterator[JobEvent]:
        """Events as they happen, until the job has ended; goes on where a connection broke."""
        watch = Watch(job_id, after, Retries(self.url, FOLLOWING * self._retries))
        while not watch.has_ended():
            error: Optional[httpx.TransportError] = None
            delay: Optional[float] = None
            try:
                with self._http.stream(
                    "GET", watch.path, headers=watch.headers, timeout=SILENCE_SECONDS
                ) as response:
                    if response.status_code != 200:
                        response.read()
                    delay = watch.opened(response)
                    if delay is None:
                        for chunk in response.iter_bytes():
                            yield from watch.feed(chunk)
                            if watch.has_ended():
                                return
            except httpx.TransportError as caught:
                error = caught
            time.sleep(watch.interrupted(error) if delay is None else delay)

    def wait(self, job_id: str, timeout: Optional[float] = None) -> Job:
        """The job once it has ended. Raises TimeoutError after `timeout` seconds."""
        patience = Patience(job_id, timeout, self._timeout)
        while True:
            call = calls.get_ended(job_id, patience.answer_seconds())
            job = self._send(call, FOLLOWING * self._retries)
            if job.state.is_terminal:
                return job
            time.sleep(patience.pause())

    def artifacts(self, job_id: str) -> List[Artifact]:
        """The files of the job's official attempt."""
        return self._send(calls.artifacts(job_id))

    def download(
        self, job_id: str, to: PathLike, roles: Optional[Collection[str]] = None
    ) -> List[Path]:
        """Fetches the job's artifacts into a folder, all of them or those of some roles.

        Each is verified by its SHA-256 before it gets its name; one that is there already is
        not fetched again. Raises RemoteError for content that is not what was announced.
        """
        chosen = [one for one in self.artifacts(job_id) if roles is None or one.role in roles]
        check_names(chosen)
        folder = Path(to)
        folder.mkdir(parents=True, exist_ok=True)
        return [self._download(job_id, artifact, folder) for artifact in chosen]

    def profile(self, job_id: str) -> Dict[str, Any]:
        """The job's profile.json. Raises NotFound before there is one."""
        return self._send(calls.profile(job_id))

    def _download(self, job_id: str, artifact: Artifact, folder: Path) -> Path:
        if is_there(artifact, folder):
            return folder / artifact.name
        retries = Retries(self.url, FOLLOWING * self._retries)
        with Download(job_id, artifact, folder, retries) as download:
            while not download.complete:
                error: Optional[httpx.TransportError] = None
                delay: Optional[float] = None
                try:
                    with self._http.stream(
                        "GET", download.url_path, headers=download.headers
                    ) as response:
                        if response.status_code not in (200, 206):
                            response.read()
                        delay = download.opened(response)
                        if delay is None:
                            for chunk in response.iter_raw():
                                download.write(chunk)
                except httpx.TransportError as caught:
                    error = caught
                if not download.complete:
                    time.sleep(download.interrupted(error) if delay is None else delay)
            return download.finish()

    def _send(self, call: Call[T], tries: Optional[int] = None) -> T:
        retries = Retries(self.url, self._retries if tries is None else tries)
        while True:
            try:
                response = self._http.request(
                    call.method,
                    call.path,
                    params=call.params,
                    headers=call.headers,
                    content=call.content,
                )
            except httpx.TransportError as error:
                time.sleep(retries.after_error(error))
                continue
            delay = retries.after_answer(response)
            if delay is None:
                return call.answer(response)
            time.sleep(delay)
