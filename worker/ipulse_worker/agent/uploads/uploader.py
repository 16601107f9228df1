"""Uploads an attempt's files one after another, the manifest last.

A small manifest is sent in the request that reports the outcome, which saves a request.
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
from ipulse.outgoing_file import OutgoingFile
from ipulse_core.errors import InvalidInput, IPUlseError, NotFound, Problem, StaleToken
from ipulse_core.events import ArtifactEvent, CheckpointEvent
from ipulse_core.messages import MANIFEST_BYTES
from ipulse_core.worker_faults import WorkerFault, fault_of
from ipulse_worker.agent.lease import AttemptLease
from ipulse_worker.agent.retry_policy import retry_transfer
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_types import PiggybackedManifest

MANIFEST = "manifest"
MAX_MANIFEST_BYTES = 2**24  # a spec, and some lines for each file


@dataclass(frozen=True)
class _File:
    """A file to upload, with its event if it is a checkpoint."""

    name: str
    role: str
    media_type: str
    checkpoint: CheckpointEvent | None = None


class Uploader:
    """Uploads in its own thread, so that large files do not delay metrics and logs.

    A waiting checkpoint is dropped when a newer one comes. The manifest waits for
    `release_manifest`; it is never sent if a file could not be stored or differs from the
    manifest's entry.
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
        """Prepare the thread.

        Args:
            api: The service.
            lease: The lease of the attempt; its loss ends the thread.
            directory: The directory of the files.
            on_stored: Called with each stored checkpoint.
            on_failure: Called with a message for each file that could not be stored.
            on_end: Called when nothing more will be uploaded, unless the lease is lost.
        """
        self._api = api
        self._lease = lease
        self._directory = directory
        self._on_stored = on_stored
        self._on_failure = on_failure
        self._on_end = on_end
        self.has_ended = False
        self.failures: list[str] = []  # of artifacts; a lost checkpoint only costs time
        self.fault: WorkerFault | None = None  # of the disk, the first one
        self._stored: dict[str, str] = {}  # SHA-256 of the artifacts that the service has, by name
        self._manifest: _File | None = None
        self._is_released = False  # whether the manifest may be sent
        # The manifest, if it is sent with the outcome.
        self.piggybacked_manifest: PiggybackedManifest | None = None
        self._waiting: deque[_File] = deque()
        self._change = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="uploader", daemon=True)
        lease.on_loss(lambda why: self._wake())

    @property
    def has_manifest(self) -> bool:
        """True if the runner has announced a manifest."""
        return self._manifest is not None

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def add(self, event: ArtifactEvent | CheckpointEvent) -> None:
        """Queue the file of an event."""
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
        """Queue the manifest after all other files, because the result is complete."""
        with self._change:
            if self._manifest and not self._is_released:
                self._is_released = True
                self._waiting.append(self._manifest)
                self._change.notify_all()

    def send_manifest(self) -> None:
        """Upload the piggybacked manifest in a request of its own; call it after the end."""
        manifest, self.piggybacked_manifest = self._manifest, None
        if manifest:
            self._upload(manifest, by_itself=True)

    def close(self) -> None:
        """End the thread after the queued files."""
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
                    check_stored(_read_all(content), self._stored)
                    self.piggybacked_manifest = _piggybacked(file, content)
                    if self.piggybacked_manifest:
                        return
                sha256 = self._store(file, content)
        except (StaleToken, NotFound) as error:
            self._lease.lose(error)
        except OSError as error:
            path = self._directory / file.name
            if not file.checkpoint:
                self.fault = self.fault or fault_of(error, path)
            self._fail(file, f"{path}: {error.strerror}" if error.strerror else str(error))
        except InvalidInput as error:
            first, *rest = error.problems  # the message of an outcome is short
            self._fail(file, f"{first} (and {len(rest)} more)" if rest else str(first))
        except IPUlseError as error:
            self._fail(file, error.message)
        else:
            if file.checkpoint:
                self._on_stored(file.checkpoint)
            else:
                self._stored[file.name] = sha256

    def _store(self, file: _File, content: BufferedReader) -> str:
        outgoing = OutgoingFile(content, os.fstat(content.fileno()).st_size)
        return retry_transfer(
            lambda: self._api.upload(
                self._lease,
                outgoing,
                name=file.name,
                role=file.role,
                media_type=file.media_type,
            ),
            self._lease.wait_for_loss,
            self._lease,
        )

    def _fail(self, file: _File, why: str) -> None:
        failure = f"{file.name} could not be stored: {why}"
        if not file.checkpoint:
            self.failures.append(failure)
        self._on_failure(failure)


def _read_all(manifest: BufferedReader) -> bytes:
    """Return the content and rewind the file. Raises InvalidInput if it is too long."""
    text = manifest.read(MAX_MANIFEST_BYTES + 1)
    if len(text) > MAX_MANIFEST_BYTES:
        raise InvalidInput([Problem("", "too_long", f"more than {MAX_MANIFEST_BYTES:,} bytes")])
    manifest.seek(0)
    return text


def _piggybacked(file: _File, content: BufferedReader) -> PiggybackedManifest | None:
    """Return the manifest for the outcome request, None if it is too large."""
    whole = content.read(MANIFEST_BYTES + 1)
    if len(whole) > MANIFEST_BYTES:
        return None
    return PiggybackedManifest(file.name, file.media_type, hashlib.sha256(whole).hexdigest(), whole)


def _open_regular(path: Path) -> BufferedReader:
    """Open a regular file: no link out of the directory, no pipe that blocks."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path.name} is not a regular file")
    return os.fdopen(descriptor, "rb")
