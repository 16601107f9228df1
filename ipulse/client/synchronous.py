"""The client for ordinary programs."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Collection, Dict, Iterator, List, Optional, Sequence, Type

from .calls import Spec
from .connection import options_for
from .conversation import Conversation
from .location import PathLike, find
from .resources import Artifact, Job, JobEvent, Token, ValidSpec
from .transports import Blocking, finished, stepped


class Client:
    """Submits jobs, follows them and fetches what they leave.

    Finds the service by its arguments, the environment (IPULSE_URL, IPULSE_TOKEN,
    IPULSE_TOKEN_FILE, IPULSE_CA) or the home of `ipulse up`; `ca` is a file with the authority or
    the certificate that it shows. Calls are repeated up to `retries` times while the service is
    away, twice as often where a job is followed or a file fetched; `timeout` (seconds) is for each
    answer to begin. Errors are those of ipulse_core.errors. Close it, or use it as a context
    manager.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        token_file: Optional[PathLike] = None,
        home: Optional[PathLike] = None,
        ca: Optional[PathLike] = None,
        timeout: float = 30.0,
        retries: int = 4,
    ) -> None:
        service = find(url, token, token_file, home, ca=ca)
        self.url = service.url
        transport = Blocking(**options_for(service, timeout))
        self._conversation = Conversation(service.url, transport, timeout, retries)
        self._http = transport.http

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
        finished(self._conversation.close())

    def ready(self) -> None:
        """Returns if work can flow through the service. Raises Unavailable otherwise."""
        finished(self._conversation.ready())

    def validate(self, spec: Spec) -> ValidSpec:
        """What the service makes of a spec, without running it. Raises InvalidSpec."""
        return finished(self._conversation.validate(spec))

    def submit(
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
        Raises InvalidSpec.
        """
        return finished(
            self._conversation.submit(
                spec,
                idempotency_key,
                priority=priority,
                queue_seconds=queue_seconds,
                run_seconds=run_seconds,
                total_seconds=total_seconds,
            )
        )

    def get(self, job_id: str) -> Job:
        """The job as it is now. Raises NotFound."""
        return finished(self._conversation.get(job_id))

    def list(self, state: Optional[str] = None, page_size: int = 100) -> Iterator[Job]:
        """Every job, newest first, fetched page by page; without their specs."""
        return stepped(self._conversation.list(state, page_size))

    def cancel(self, job_id: str) -> Job:
        """Asks the job to stop; a job that has ended stays as it is. Raises NotFound."""
        return finished(self._conversation.cancel(job_id))

    def pause(self, job_id: str) -> Job:
        """Stops the job for now, at a checkpoint if it has begun. Raises Conflict, NotFound."""
        return finished(self._conversation.pause(job_id))

    def resume(self, job_id: str) -> Job:
        """Queues a paused job again; it goes on from its checkpoint. Raises Conflict, NotFound."""
        return finished(self._conversation.resume(job_id))

    def delete(self, job_id: str) -> None:
        """Removes a job that has ended, with its files. Raises Conflict, NotFound."""
        finished(self._conversation.delete(job_id))

    def events(self, job_id: str, after: int = 0, kinds: Sequence[str] = ()) -> Iterator[JobEvent]:
        """The events so far, after number `after`, of all kinds unless some are named."""
        return stepped(self._conversation.events(job_id, after, kinds))

    def watch(self, job_id: str, after: int = 0) -> Iterator[JobEvent]:
        """Events as they happen, until the job has ended; goes on where a connection broke."""
        return stepped(self._conversation.watch(job_id, after))

    def wait(self, job_id: str, timeout: Optional[float] = None) -> Job:
        """The job once it has ended. Raises TimeoutError after `timeout` seconds."""
        return finished(self._conversation.wait(job_id, timeout))

    def artifacts(self, job_id: str) -> List[Artifact]:
        """The files of the job's official attempt."""
        return finished(self._conversation.artifacts(job_id))

    def download(
        self, job_id: str, to: PathLike, roles: Optional[Collection[str]] = None
    ) -> List[Path]:
        """Fetches the job's artifacts into a folder, all of them or those of some roles.

        Each is verified by its SHA-256 before it gets its name; one that is there already is
        not fetched again. Raises RemoteError for content that is not what was announced.
        """
        return finished(self._conversation.download(job_id, to, roles))

    def profile(self, job_id: str) -> Dict[str, Any]:
        """The job's profile.json. Raises NotFound before there is one."""
        return finished(self._conversation.profile(job_id))

    def create_token(self, name: str, role: str, seconds: int) -> Token:
        """Hands out a token for a role (reader, user, worker), good for so many seconds.

        Takes the owner's token. Its `secret` is told only here. Raises NotPermitted.
        """
        return finished(self._conversation.create_token(name, role, seconds))

    def tokens(self) -> List[Token]:
        """Every token that was handed out and not revoked, without the secrets."""
        return finished(self._conversation.tokens())

    def revoke_token(self, token_id: str) -> None:
        """Makes a token worthless. Raises NotFound."""
        finished(self._conversation.revoke_token(token_id))
