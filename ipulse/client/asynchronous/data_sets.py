"""The calls about what users upload: data sets, weights, programs and custom ops."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ipulse.client import datasets
from ipulse.client.location import PathLike
from ipulse.client.transport.retries import UPLOADING
from ipulse.outgoing_file import OutgoingFile
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.input_files import InputFolder
from ipulse_core.limits import MAX_NIR_BYTES
from ipulse_core.source_package import PREFIX, read_folder, write_package
from ipulse_core.spec.nir_writers import ResetName, SolverName, WriterName

from .uploads import AsyncFileUploads

if TYPE_CHECKING:
    from ipulse.client.datasets.resources import (
        DatasetVersion,
        ImportedNetwork,
        PushedOp,
        UploadProgress,
    )

# Called with the files of a folder, the links that were followed, and what is not sent.
OnFolder = Callable[[InputFolder], None]


class AsyncDataSets(AsyncFileUploads):
    """The calls about data sets, weights, programs and custom ops."""

    async def push_dataset(
        self,
        path: PathLike | None = None,
        name: str | None = None,
        on_progress: UploadProgress | None = None,
        *,
        follow_outside: bool = False,
        check: bool = True,
        **arrays: Any,
    ) -> DatasetVersion:
        """Upload a data set, or the next version of one, and wait until it is checked.

        After a cut it continues where it was, also in another run of the program. Bytes that the
        service has are not sent again, and the same content twice is one version.

        Args:
            path: An npz, HDF5 or CSV file, an archive, or a folder, which is packed.
            name: The name of the data set; by default that of the file.
            on_progress: Is called with the bytes that were sent and the size.
            follow_outside: Follow symbolic links of a folder that leave it, too.
            check: Raise InvalidInput if the service refuses the content, and warn of labels and
                channels without events. Else the version that is returned may be `refused`.
            arrays: In place of a path, the arrays of an npz file, such as spikes and labels.

        Warns of files of a folder that are not sent, such as hidden ones. Raises InvalidInput if a
        part of a folder is not there.
        """
        if (path is None) == (not arrays):
            raise _refused("give either a path or arrays")
        if path is None:
            if name is None:
                raise _refused("arrays need a name for their data set")
            with datasets.packing.packed_arrays(arrays) as file:
                version = await self._push_version(file, name, on_progress)
        else:
            name = datasets.packing.name_of(Path(path)) if name is None else name
            with datasets.packing.packed(Path(path), follow_outside) as data:
                if data.folder and data.folder.skipped:
                    warnings.warn(data.folder.skipped_text(), stacklevel=2)
                version = await self._push_version(data.file, name, on_progress)
        if check and version.state != "ready":
            raise _refused(f"{version.reference} is {version.state}: {version.refusal or ''}")
        for warning in version.warnings if check else ():
            warnings.warn(warning, stacklevel=2)
        return version

    async def _push_version(
        self, file: PathLike, name: str, on_progress: UploadProgress | None
    ) -> DatasetVersion:
        upload_id, _ = await self._upload(file, "dataset", on_progress)
        version = await self._send(
            datasets.calls.add_version(name, upload_id), UPLOADING * self._retries
        )
        while version.state == "checking":
            call = datasets.calls.get_version(
                version.dataset, str(version.version), is_waiting=True
            )
            version = await self._send(call, UPLOADING * self._retries)
        return version

    async def datasets(self) -> list[DatasetVersion]:
        """Return the latest version of every data set, newest data sets first."""
        found: list[DatasetVersion] = []
        token = ""
        while True:
            page, token = await self._send(datasets.calls.list_datasets(token))
            found += page
            if not token:
                return found

    async def dataset(self, reference: str) -> DatasetVersion:
        """Return a version by `NAME@VERSION`, or the latest by `NAME`. Raises NotFound."""
        name, _, number = reference.partition("@")
        return await self._send(
            datasets.calls.get_version(name, number or "latest", is_waiting=False)
        )

    async def dataset_versions(self, name: str) -> list[DatasetVersion]:
        """Return all versions of a data set, newest first. Raises NotFound."""
        return await self._send(datasets.calls.list_versions(name))

    async def dataset_sample(self, reference: str, sample: int) -> dict[str, Any]:
        """Return the events of one of a version's `previews`. Raises NotFound."""
        name, _, number = reference.partition("@")
        return await self._send(datasets.calls.get_sample(name, number or "latest", sample))

    async def delete_dataset(self, reference: str) -> None:
        """Delete a version by `NAME@VERSION`, or all of them by `NAME`.

        Raises Conflict while a job that has not ended needs it, and NotFound.
        """
        name, _, number = reference.partition("@")
        await self._send(datasets.calls.delete(name, number or None))

    async def upload_weights(
        self, path: PathLike, on_progress: UploadProgress | None = None
    ) -> str:
        """Upload an npz file of initial weights and return its SHA-256.

        A spec names it as network.initial.upload. The service keeps the file for a day, and as
        long as a job uses it.
        """
        _, sha256 = await self._upload(path, "weights", on_progress)
        return sha256

    async def import_nir(
        self,
        path: PathLike,
        *,
        writer: WriterName | None = None,
        solver: SolverName | None = None,
        step_ms: float | None = None,
        reset: ResetName | None = None,
        name: str | None = None,
    ) -> ImportedNetwork:
        """Make a spec of the network in a NIR file, and keep its weights on the service.

        Args:
            path: A NIR file of at most 256 MiB.
            writer: The program that wrote it; nir: any that solves NIR's equations. By default what
                a file of IPUlse says.
            solver: How that program makes decays of time constants. exact: exp(-step / tau); euler:
                1 - step / tau; unscaled: exact, and the input has no factor.
            step_ms: Its time step in milliseconds.
            reset: What a spike does to its membrane, in the same step or later, one step after.
            name: The name of the spec; by default that of the file.

        Raises NirAmbiguous, whose `choices` are the arguments to choose from, if the file does not
        tell what its neurons do, and InvalidInput if it cannot be imported; the message names the
        node. The service keeps the weights for a day, and as long as a job uses them.
        """
        options = {"writer": writer, "solver": solver, "step_ms": step_ms, "reset": reset}
        named = {**options, "name": Path(path).stem[:200] if name is None else name}
        size = Path(path).stat().st_size
        if size > MAX_NIR_BYTES:
            detail = (
                f"{path} has {size:,} bytes, and the service reads NIR files of at most "
                f"{MAX_NIR_BYTES:,}: use `ipulse nir import`, which reads it on this machine"
            )
            raise InvalidInput([Problem("/path", "too_large", detail)], detail)
        with Path(path).open("rb") as content:
            return await self._send(datasets.calls.import_nir(OutgoingFile(content, size), named))

    async def push_program(
        self, folder: PathLike, follow_outside: bool = False, on_folder: OnFolder | None = None
    ) -> str:
        """Upload the source package of a folder, and return `sha256:` and its digest.

        Equal folders have equal digests. It is kept for a day, and as long as a job uses it.
        Symbolic links that leave the folder are refused, unless `follow_outside` is true.
        `on_folder` is called with the links that were followed and the names that are left out:
        hidden ones, `build` and `__pycache__`. Raises NotPermitted unless the token
        may submit code, and InvalidInput for a folder that cannot be a package.
        """
        return PREFIX + await self._push_package(folder, "program", follow_outside, on_folder)

    async def push_op(
        self, folder: PathLike, follow_outside: bool = False, on_folder: OnFolder | None = None
    ) -> PushedOp:
        """Upload the source package of a custom op, which a spec names as `network.layers[].op`.

        Equal folders are one op; links and files that are left out are as in `push_program`.
        Raises NotPermitted unless the token may submit code, and InvalidInput for a folder that
        cannot be a package, or a wrong op.json.
        """
        digest = await self._push_package(folder, "op", follow_outside, on_folder)
        return await self._send(datasets.calls.get_op(digest))

    async def ops(self) -> list[PushedOp]:
        """Return all custom ops that were pushed, newest first."""
        found: list[PushedOp] = []
        token = ""
        while True:
            page, token = await self._send(datasets.calls.list_ops(token))
            found += page
            if not token:
                return found

    async def delete_op(self, reference: str) -> None:
        """Delete a custom op, `NAME@sha256:DIGEST`; jobs that use it keep its package.

        Raises NotFound, and NotPermitted unless the token may submit code.
        """
        from ipulse_core.spec.custom_ops import OpReference  # slow, and of few commands

        await self._send(datasets.calls.delete_op(OpReference.of(reference).digest))

    async def _push_package(
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


def _refused(detail: str) -> InvalidInput:
    return InvalidInput([Problem("", "invalid_data", detail)], "the data set is not accepted")
