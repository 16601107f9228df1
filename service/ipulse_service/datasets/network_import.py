"""Imports a network from a NIR file: the spec, and weights that the service keeps as an upload."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from ipulse.nir_errors import NirInvalid, check_result
from ipulse.spec.nir_document import nir_document
from ipulse_core.errors import Problem
from ipulse_core.quotas import Quota
from ipulse_service.datasets import uploads
from ipulse_service.datasets.uploads import UploadRow
from ipulse_service.db.engine import Database
from ipulse_service.files import stored
from ipulse_service.files.partial_upload import PartialUpload
from ipulse_service.files.stored import Store
from ipulse_service.quotas import store as quotas
from ipulse_service.reading.reader import NIR, DocumentReader, Unreadable

PURPOSE = "weights"  # of the upload
PLACE = "/body"  # of problems of the file
_BLOCK = 2**20  # bytes


class ImportedNir(NamedTuple):
    """A spec of version 2 that names its weights, and what the importer says about them."""

    spec: dict[str, Any]
    notes: list[str]
    arrays: dict[str, list[int]]  # shapes of the weights by name
    weights: UploadRow


class NetworkImporter:
    """Imports networks for the callers of a database's transactions."""

    def __init__(self, blobs: Store, reader: DocumentReader, scratch: Path) -> None:
        self._blobs = blobs
        self._reader = reader
        self._scratch = scratch

    def run(
        self, database: Database, caller: str, path: Path, name: str, options: Mapping[str, str]
    ) -> ImportedNir:
        """Reads a file in a process of its own and stores the weights.

        Args:
            database: With the rights of the caller.
            caller: Who gets the upload.
            path: Of the NIR file.
            name: Of the spec.
            options: Flags of `python -m ipulse_core.nir`, with their values.

        Raises:
            NirAmbiguous: The file does not tell what its neurons do.
            NirInvalid: It cannot be imported.
            InvalidSpec: No spec may have its network.
            QuotaExceeded: The weights are too much for a quota.
            Unavailable: It cannot be read or stored now.
        """
        self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self._scratch) as weights:
            found = self._read(path, options, weights)
            check_result(found, PLACE)
            weights.seek(0)
            file = self._blobs.receive()
            try:
                while block := weights.read(_BLOCK):
                    file.write(block)
                spec = nir_document(found, name, {"upload": file.sha256})
                upload = self._keep(database, caller, file)
            finally:
                file.close()
        return ImportedNir(spec, found["notes"], found["arrays"], upload)

    def _read(self, path: Path, options: Mapping[str, str], weights: IO[bytes]) -> dict[str, Any]:
        words = [word for pair in options.items() for word in pair]
        try:
            return self._reader.read(NIR, [path, *words, "--limited"], weights)
        except Unreadable as error:
            problem = Problem(PLACE, NirInvalid.code, error.detail)
            raise NirInvalid([problem], error.detail) from error

    def _keep(self, database: Database, caller: str, file: PartialUpload) -> UploadRow:
        file.sync()
        with stored.keeping(database, self._blobs, file) as transaction:
            return uploads.add_made(transaction, caller, PURPOSE, file.size, file.sha256)


def check_may_import(database: Database, caller: str) -> None:
    """Raises QuotaExceeded if the caller may not upload a file now."""
    with database.write() as transaction:
        quotas.check(transaction, Quota.UPLOADS, transaction.access.project, caller)
