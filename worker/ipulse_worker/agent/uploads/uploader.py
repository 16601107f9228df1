"""Takes an attempt's files to the artifact store: one after another, the manifest last.

That one travels with the verdict, unless it is large: somebody is waiting for the end.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from ipulse.manifest import check_stored
from ipulse_core.errors import InvalidInput, IPUlseError, NotFound, Problem, StaleToken
from ipulse_core.events import ArtifactEvent, CheckpointEvent
from ipulse_core.messages import MANIFEST_BYTES
from ipulse_worker.agent.retry_policy import retry_while_unavailable
from ipulse_worker.agent.service_api import PiggybackedManifest, ServiceAPI
from ipulse_worker.agent.supervision.lease import AttemptLease
from ipulse_worker.agent.uploads.outgoing_file import OutgoingFile

MANIFEST = "manifest"
MOST_OF_A_MANIFEST = 2**24  # bytes: a spec, and some lines for each file


@dataclass(frozen=True)
class _File:
    """A file to store, and the checkpoint that it is, if it is one."""

    name: str
    role: str
    media_type: str
    checkpoint: CheckpointEvent | None = None


class Uploader:
    """Uploads in a thread of its own, so that large files never hold up metrics and logs.

    A checkpoint that waits when a newer one comes is passed over: only the last one counts. The
    manifest waits until it is said that the rest is all there; if anything could not be stored,
    or is not what the manifest says, it never goes.
    """

    def __init__(
        self,
        api: ServiceAPI,
        lease: AttemptLease,
        directory: Path,
        on_stored: Callable[[CheckpointEvent], None],
        on_failure: Callable[[str], None],
        on_end: Callable[[], None],
    ) -> None:
        """`on_stored` hears of checkpoints, `on_failure` of every file that was not stored;
        `on_end` is called when nothing more will be uploaded, unless the lease is lost."""
        self._api = api
        self._lease = lease
        self._directory = directory
        self._on_stored = on_stored
        self._on_failure = on_failure
        self._on_end = on_end
        self.has_ended = False
        self.failures: list[str] = []  # of artifacts; a lost checkpoint only costs time
        self._stored: dict[str, str] = {}  # SHA-256 of the artifacts that the service has, by name
        self._manifest: _File | None = None
        self._is_released = False  # the manifest may go
        self.piggybacked_manifest: PiggybackedManifest | None = (
            None  # it, if it is to travel with the verdict
        )
        self._waiting: deque[_File] = deque()
        self._change = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="uploader", daemon=True)
        lease.on_loss(lambda why: self._wake())

    @property
    def has_manifest(self) -> bool:
        """Whether the runner named one."""
        return self._manifest is not None

    def start(self) -> None:
        self._thread.start()

    def add(self, event: ArtifactEvent | CheckpointEvent) -> None:
        with self._change:
            if isinstance(event, CheckpointEvent):
                self._waiting = deque(file for file in self._waiting if not file.checkpoint)
                file = _File(event.path, "checkpoint", "application/octet-stream", event)
            else:
                file = _File(event.path, event.role, event.media_type)
            if file.role == MANIFEST:
                self._manifest = file
                return
            self._waiting.append(file)
            self._change.notify_all()

    def release_manifest(self) -> None:
        """The result is complete: lets the manifest go, after all the rest."""
        with self._change:
            if self._manifest and not self._is_released:
                self._is_released = True
                self._waiting.append(self._manifest)
                self._change.notify_all()

    def send_manifest(self) -> None:
        """Stores by itself what was to travel with the verdict; called once this has ended."""
        manifest, self.piggybacked_manifest = self._manifest, None
        if manifest:
            self._upload(manifest, by_itself=True)

    def close(self) -> None:
        """Nothing more will come."""
        with self._change:
            self._is_closed = True
            self._change.notify_all()

    def _wake(self) -> None:
        with self._change:
            self._change.notify_all()

    def _run(self) -> None:
        with self._lease.lost_by_failure("uploader"):
            while file := self._next():
                self._upload(file)
            self.has_ended = True
            self._on_end()

    def _next(self) -> _File | None:
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._is_closed or self._lease.is_lost)
            if self._lease.is_lost or not self._waiting:
                return None
            return self._waiting.popleft()

    def _upload(self, file: _File, by_itself: bool = False) -> None:
        if file is self._manifest and self.failures:
            return
        try:
            with _open_regular(self._directory / file.name) as content:
                if file is self._manifest and not by_itself:
                    check_stored(_whole(content), self._stored)
                    self.piggybacked_manifest = _carried(file, content)
                    if self.piggybacked_manifest:
                        return
                sha256 = self._store(file, content)
        except (StaleToken, NotFound) as error:
            self._lease.lose(error)
        except OSError as error:
            self._fail(file, error.strerror or str(error))
        except InvalidInput as error:
            first, *others = error.problems  # a verdict has no room for all of them
            self._fail(file, f"{first} (and {len(others)} more)" if others else str(first))
        except IPUlseError as error:
            self._fail(file, error.message)
        else:
            if file.checkpoint:
                self._on_stored(file.checkpoint)
            else:
                self._stored[file.name] = sha256

    def _store(self, file: _File, content: BufferedReader) -> str:
        outgoing = OutgoingFile(content, os.fstat(content.fileno()).st_size)
        return retry_while_unavailable(
            lambda: self._api.upload(
                self._lease,
                outgoing,
                name=file.name,
                role=file.role,
                media_type=file.media_type,
            ),
            self._lease.wait_for_loss,
        )

    def _fail(self, file: _File, why: str) -> None:
        failure = f"{file.name} could not be stored: {why}"
        if not file.checkpoint:
            self.failures.append(failure)
        self._on_failure(failure)


def _whole(manifest: BufferedReader) -> bytes:
    """All of it, to be read again. Raises InvalidInput for more than any manifest has."""
    text = manifest.read(MOST_OF_A_MANIFEST + 1)
    if len(text) > MOST_OF_A_MANIFEST:
        raise InvalidInput([Problem("", "too_long", f"more than {MOST_OF_A_MANIFEST:,} bytes")])
    manifest.seek(0)
    return text


def _carried(file: _File, content: BufferedReader) -> PiggybackedManifest | None:
    """The whole file; None if it is too large for a request about something else."""
    whole = content.read(MANIFEST_BYTES + 1)
    if len(whole) > MANIFEST_BYTES:
        return None
    return PiggybackedManifest(file.name, file.media_type, hashlib.sha256(whole).hexdigest(), whole)


def _open_regular(path: Path) -> BufferedReader:
    """Opens a file that is one: no link out of the directory, no pipe that never ends."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path.name} is not a regular file")
    return os.fdopen(descriptor, "rb")
