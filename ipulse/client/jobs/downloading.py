"""The download of one artifact; its file gets its name once the digest is verified."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import httpx

from ipulse.client.transport.problems import error_in
from ipulse.client.transport.retries import RetryPolicy
from ipulse_core.errors import RemoteError
from ipulse_core.events import FILE_NAME
from ipulse_core.worker_faults import errors_name

from .calls import content_path
from .resources import Artifact

_BLOCK = 2**20


def check_names(artifacts: Sequence[Artifact]) -> None:
    """Raise RemoteError for names that leave the folder, and for duplicate names.

    The names become paths on this machine, so the client does not trust the service here.
    """
    seen = set()
    for artifact in artifacts:
        if not re.fullmatch(FILE_NAME, artifact.name):
            raise RemoteError(
                f"the service lists an artifact with the unsafe name {artifact.name!r}: "
                "not downloaded"
            )
        if artifact.name in seen:
            raise RemoteError(f"the service lists {artifact.name} twice: not downloaded")
        seen.add(artifact.name)


class Download:
    """An artifact that is written to a temporary file, verified, and renamed.

    It makes the headers of the next request and processes the responses, without a connection of
    its own. It is a context manager, which removes a partial file.
    """

    def __init__(self, job_id: str, artifact: Artifact, folder: Path, retries: RetryPolicy) -> None:
        self.url_path = content_path(job_id, artifact.id)
        self.path = folder / artifact.name
        self._artifact = artifact
        self._retries = retries
        self._part = folder / f".{artifact.name}.{secrets.token_hex(4)}.part"
        self._file = open(self._part, "xb")  # noqa: SIM115  # closed by __exit__
        self._digest = hashlib.sha256()
        self._size = 0

    def __enter__(self) -> Download:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # a full disk, which `finish` or `write` has reported
            self._file.close()
        self._part.unlink(missing_ok=True)

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the next request, which continue a partial download."""
        headers = {"Accept-Encoding": "identity"}  # the digest is of the stored bytes
        if self._size:
            headers["Range"] = f"bytes={self._size}-"
            headers["If-Range"] = f'"{self._artifact.sha256}"'
        return headers

    @property
    def complete(self) -> bool:
        """True once all bytes have arrived; an empty file is complete before any request."""
        return self._size == self._artifact.size

    def opened(self, response: httpx.Response) -> float | None:
        """Check the status of a response; the body of an error must have been read.

        Returns None for the content, else the seconds until the next try. Raises the error that
        the response reports.
        """
        delay = self._retries.after_answer(response)
        if delay is not None:
            return delay
        if response.status_code >= 400:
            raise error_in(response)
        if response.status_code == 206:
            self._check_range(response)
        elif response.status_code == 200:
            self._restart()
        else:
            raise self._refused(f"answered with HTTP {response.status_code}")
        return None

    def write(self, chunk: bytes) -> None:
        """Append to the file. Raises OSError, with the file's name, if the disk is full."""
        if self._size + len(chunk) > self._artifact.size:
            raise self._refused(f"is longer than the announced {self._artifact.size} bytes")
        with errors_name(self.path):
            self._file.write(chunk)
        self._digest.update(chunk)
        self._size += len(chunk)
        self._retries.progressed()

    def interrupted(self, error: httpx.TransportError | None) -> float:
        """Return the seconds until the next try. Raises Unavailable after too many failures."""
        return self._retries.after_error(error)

    def finish(self) -> Path:
        """Verify the digest and give the file its name.

        Raises RemoteError for a wrong digest, OSError as `write` does.
        """
        if self._digest.hexdigest() != self._artifact.sha256:
            raise self._refused("does not have the announced digest")
        with errors_name(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
        os.replace(self._part, self.path)
        return self.path

    def _check_range(self, response: httpx.Response) -> None:
        wanted = f"bytes {self._size}-{self._artifact.size - 1}/{self._artifact.size}"
        if response.headers.get("content-range", "") != wanted:
            raise self._refused("was sent with another range than the requested one")

    def _restart(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._digest = hashlib.sha256()
        self._size = 0

    def _refused(self, what: str) -> RemoteError:
        return RemoteError(f"{self._artifact.name} {what}: the download was discarded")


def is_downloaded(artifact: Artifact, folder: Path) -> bool:
    """Return whether the folder already has this file with the same content."""
    path = folder / artifact.name
    if path.is_symlink() or not path.is_file() or path.stat().st_size != artifact.size:
        return False
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(_BLOCK), b""):
            digest.update(block)
    return digest.hexdigest() == artifact.sha256
