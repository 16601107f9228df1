"""The data sets of a connection."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ipulse.client import DatasetVersion
from ipulse.client.datasets.packing import name_of, packed
from ipulse.client.location import PathLike
from ipulse_core.errors import InvalidInput, Problem

from .optional import optional_module

if TYPE_CHECKING:
    from .connection import Connection


class DataLibrary:
    """Uploads and lists data sets."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def push(
        self,
        path: PathLike | None = None,
        *,
        name: str | None = None,
        follow_outside: bool = False,
        **arrays: Any,
    ) -> DatasetVersion:
        """Upload a data set, or the next version of one, and return the checked version.

        Args:
            path: An npz, HDF5 or CSV file, an archive, or a folder.
            name: The name of the data set; by default that of the file.
            follow_outside: Follow symbolic links of a folder that leave it, too.
            arrays: In place of a path, the arrays of an npz file, such as spikes and labels.

        Warns of files of a folder that are not sent, such as hidden ones, and of labels and
        channels without events. Raises InvalidInput if
        a part of a folder is not there, and with the reason if the service refuses the content.
        """
        if (path is None) == (not arrays):
            raise _refused("give either a path or arrays")
        if path is not None:
            with packed(Path(path), follow_outside) as data:
                if data.folder and data.folder.skipped:
                    warnings.warn(data.folder.skipped_text(), stacklevel=2)
                return self._push(data.file, name or name_of(Path(path)))
        if name is None:
            raise _refused("arrays need a name for their data set")
        numpy = optional_module("numpy", "a data set of arrays")
        with tempfile.TemporaryDirectory(prefix="ipulse-") as folder:
            stored = Path(folder) / "arrays.npz"
            numpy.savez_compressed(stored, **arrays)
            return self._push(stored, name)

    def list(self) -> list[DatasetVersion]:
        """Return the latest version of every data set."""
        return self._connection.client.datasets()

    def __getitem__(self, reference: str) -> DatasetVersion:
        return self._connection.client.dataset(reference)

    def delete(self, reference: str) -> None:
        """Delete a version by `NAME@VERSION`, or all by `NAME`. Raises Conflict, NotFound."""
        self._connection.client.delete_dataset(reference)

    def _push(self, file: Path, name: str) -> DatasetVersion:
        version = self._connection.client.push_dataset(file, name)
        if version.state != "ready":
            raise _refused(f"{version.reference} is {version.state}: {version.refusal or ''}")
        for warning in version.warnings:
            warnings.warn(warning, stacklevel=3)
        return version


def _refused(detail: str) -> InvalidInput:
    return InvalidInput([Problem("", "invalid_data", detail)], "the data set is not accepted")
