"""One artifact on its way to a file: nothing stands under its name before its digest is right."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Dict, Iterator, Optional, Sequence

import httpx

from ipulse_core.errors import RemoteError
from ipulse_core.events import ArtifactEvent
from ipulse_core.schema import fields_of

from .calls import content_path
from .problems import error_in
from .resources import Artifact
from .retries import Retries

_NAME = next(
    field.metadata["pattern"] for field, _ in fields_of(ArtifactEvent) if field.name == "path"
)
_BLOCK = 2**20


def check_names(artifacts: Sequence[Artifact]) -> None:
    """Raises RemoteError for names that would leave the folder or hide one another.

    The service promises better; but what it says becomes paths on this machine.
    """
    seen = set()
    for artifact in artifacts:
        if not re.fullmatch(_NAME, artifact.name):
            raise RemoteError(f"the service names an artifact {artifact.name!r}: not downloaded")
        if artifact.name in seen:
            raise RemoteError(f"the service lists {artifact.name} twice: not downloaded")
        seen.add(artifact.name)


class Download:
    """An artifact written beside its place, checked, and renamed.

    Knows what to ask for next (`headers`) and what to do with an answer; knows no sockets.
    Used as a context manager, so that nothing half done is left behind.
    """

    def __init__(self, job_id: str, artifact: Artifact, folder: Path, retries: Retries) -> None:
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
        with suppress(OSError):  # of what no disk has room for, which `finish` or `write` told
            self._file.close()
        self._part.unlink(missing_ok=True)

    @property
    def headers(self) -> Dict[str, str]:
        headers = {"Accept-Encoding": "identity"}  # the digest is of the bytes as they are stored
        if self._size:
            headers["Range"] = f"bytes={self._size}-"
            headers["If-Range"] = f'"{self._artifact.sha256}"'
        return headers

    @property
    def complete(self) -> bool:
        """Whether every byte is here; an empty file is complete before it is asked for."""
        return self._size == self._artifact.size

    def opened(self, response: httpx.Response) -> Optional[float]:
        """Looks at the answer's status; a refusal must have been read.

        Returns None for the content, else the seconds to wait before the next try. Raises what
        a refusal stands for.
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
        """Appends to the file. Raises OSError, with its name, where there is no room."""
        if self._size + len(chunk) > self._artifact.size:
            raise self._refused(f"is longer than the {self._artifact.size} bytes announced")
        with self._named():
            self._file.write(chunk)
        self._digest.update(chunk)
        self._size += len(chunk)
        self._retries.progressed()

    def interrupted(self, error: Optional[httpx.TransportError]) -> float:
        """Seconds to wait before going on. Raises Unavailable after too many fruitless tries."""
        return self._retries.after_error(error)

    def finish(self) -> Path:
        """Gives the file its name.

        Raises RemoteError if its digest is not the one announced, OSError as `write` does.
        """
        if self._digest.hexdigest() != self._artifact.sha256:
            raise self._refused("does not have the digest announced")
        with self._named():
            self._file.flush()
            os.fsync(self._file.fileno())
        os.replace(self._part, self.path)
        return self.path

    def _check_range(self, response: httpx.Response) -> None:
        wanted = f"bytes {self._size}-{self._artifact.size - 1}/{self._artifact.size}"
        if response.headers.get("content-range", "") != wanted:
            raise self._refused("came with another range than the one asked for")

    def _restart(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._digest = hashlib.sha256()
        self._size = 0

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            error.filename = str(self.path)  # which an error of writing does not tell
            raise

    def _refused(self, what: str) -> RemoteError:
        return RemoteError(f"{self._artifact.name} {what}: nothing of it was kept")


def is_there(artifact: Artifact, folder: Path) -> bool:
    """Whether the folder already holds this very content under its name."""
    path = folder / artifact.name
    if path.is_symlink() or not path.is_file() or path.stat().st_size != artifact.size:
        return False
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(_BLOCK), b""):
            digest.update(block)
    return digest.hexdigest() == artifact.sha256
