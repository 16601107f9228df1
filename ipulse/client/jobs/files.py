"""The files of a job, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ipulse.client.jobs.resources import Artifact
from ipulse.client.location import PathLike
from ipulse_core.errors import NotFound

if TYPE_CHECKING:
    from ipulse.client.blocking.job import JobHandle


class FileHandle:
    """A file of a job; its content is read when it is asked for."""

    def __init__(self, job: JobHandle, artifact: Artifact) -> None:
        self._job = job
        self._artifact = artifact

    @property
    def name(self) -> str:
        """The name, such as report.html."""
        return self._artifact.name

    @property
    def role(self) -> str:
        """The purpose, such as report or weights."""
        return self._artifact.role

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self._artifact.size

    @property
    def sha256(self) -> str:
        """The digest of the content."""
        return self._artifact.sha256

    def download(self, to: PathLike = ".") -> Path:
        """Download the file to a folder and return its path; its digest is verified."""
        return self._job.download_file(self.name, to)

    def read(self) -> bytes:
        """Return the content."""
        return self._job.read_file(self.name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} {self.size:,} bytes>"


class JobFiles(Mapping[str, FileHandle]):
    """The files of a job; an unknown name raises NotFound, which lists the names."""

    def __init__(self, job: JobHandle, artifacts: list[Artifact]) -> None:
        self._files = {artifact.name: FileHandle(job, artifact) for artifact in artifacts}

    def __getitem__(self, name: str) -> FileHandle:
        try:
            return self._files[name]
        except KeyError:
            names = ", ".join(self._files) or "none yet"
            raise NotFound(f"the job has no file {name[:100]!r}; its files: {names}") from None

    def get(self, name: str, default: Any = None) -> Any:
        """Return a file, or the default if the job has none of this name."""
        return self._files.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(self._files)}>"
