"""The calls of both clients about data sets."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ipulse.client.location import PathLike
from ipulse.client.transport.retries import UPLOADING
from ipulse_core.input_files import InputFolder
from ipulse_core.source_package import PREFIX, read_folder, write_package
from ipulse_core.spec.custom_ops import OpReference

from . import calls
from .resources import DatasetVersion, PushedOp
from .uploads import FileUploads, UploadProgress

# Called with the files of a folder, the links that were followed, and what is not sent.
OnFolder = Callable[[InputFolder], None]


class DataSets(FileUploads):
    """The calls about data sets; errors are those of ipulse_core.errors."""

    async def push_dataset(
        self, path: PathLike, name: str, on_progress: UploadProgress | None = None
    ) -> DatasetVersion:
        """Upload a file as a version of a data set; see Client.push_dataset."""
        upload_id, _ = await self._upload(path, "dataset", on_progress)
        version = await self._send(calls.add_version(name, upload_id), UPLOADING * self._retries)
        while version.state == "checking":
            call = calls.get_version(version.dataset, str(version.version), is_waiting=True)
            version = await self._send(call, UPLOADING * self._retries)
        return version

    async def upload_weights(
        self, path: PathLike, on_progress: UploadProgress | None = None
    ) -> str:
        """Upload initial weights; see Client.upload_weights."""
        _, sha256 = await self._upload(path, "weights", on_progress)
        return sha256

    async def push_program(
        self, folder: PathLike, follow_outside: bool = False, on_folder: OnFolder | None = None
    ) -> str:
        """Upload the source package of a folder; see Client.push_program."""
        return PREFIX + await self._push(folder, "program", follow_outside, on_folder)

    async def push_op(
        self, folder: PathLike, follow_outside: bool = False, on_folder: OnFolder | None = None
    ) -> PushedOp:
        """Upload the source package of a custom op; see Client.push_op."""
        digest = await self._push(folder, "op", follow_outside, on_folder)
        return await self._send(calls.get_op(digest))

    async def ops(self) -> list[PushedOp]:
        """Return all custom ops, newest first."""
        found: list[PushedOp] = []
        token = ""
        while True:
            page, token = await self._send(calls.list_ops(token))
            found += page
            if not token:
                return found

    async def delete_op(self, reference: str) -> None:
        """Delete a custom op; see Client.delete_op."""
        await self._send(calls.delete_op(OpReference.of(reference).digest))

    async def _push(
        self, folder: PathLike, purpose: str, follow_outside: bool, on_folder: OnFolder | None
    ) -> str:
        """Upload the source package of a folder and return its SHA-256."""
        source = read_folder(Path(folder), follow_outside)
        if on_folder is not None:
            on_folder(source.found)
        with tempfile.NamedTemporaryFile() as content:
            write_package(source.files, content.file)
            content.flush()
            _, sha256 = await self._upload(content.name, purpose, None)
        return sha256

    async def datasets(self) -> list[DatasetVersion]:
        """Return the latest version of every data set, newest data sets first."""
        found: list[DatasetVersion] = []
        token = ""
        while True:
            page, token = await self._send(calls.list_datasets(token))
            found += page
            if not token:
                return found

    async def dataset_versions(self, name: str) -> list[DatasetVersion]:
        """Return all versions of a data set, newest first. Raises NotFound."""
        return await self._send(calls.list_versions(name))

    async def dataset(self, reference: str) -> DatasetVersion:
        """Return a version by `NAME@VERSION`, or the latest by `NAME`. Raises NotFound."""
        name, _, number = reference.partition("@")
        return await self._send(calls.get_version(name, number or "latest", is_waiting=False))

    async def dataset_sample(self, reference: str, sample: int) -> dict[str, Any]:
        """Return the events of one of a version's `previews`. Raises NotFound."""
        name, _, number = reference.partition("@")
        return await self._send(calls.get_sample(name, number or "latest", sample))

    async def delete_dataset(self, reference: str) -> None:
        """Delete a version or a data set; see Client.delete_dataset."""
        name, _, number = reference.partition("@")
        await self._send(calls.delete(name, number or None))
