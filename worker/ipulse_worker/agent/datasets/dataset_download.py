"""Makes the data set of a job available to its runner."""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ipulse_core.data_files.archives import unpack
from ipulse_core.data_files.errors import DataInvalid
from ipulse_core.data_files.hdf5_structure import SIGNATURE
from ipulse_core.data_sets import NPZ, UPLOADED_FOLDER, UPLOADED_NAME
from ipulse_core.errors import IPUlseError, RemoteError, StaleToken
from ipulse_core.worker_faults import errors_name
from ipulse_worker.agent.datasets.dataset_cache import DatasetCache
from ipulse_worker.agent.retry_policy import retry_transfer
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_types import ClaimedJob

_PREFIX = "sha256:"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class DatasetNotDownloaded(RuntimeError):
    """The uploaded data set of a job cannot be downloaded."""


def digest_in(spec: dict[str, Any]) -> str | None:
    """Return the SHA-256 of the uploaded data that a resolved spec needs."""
    reference = (spec.get("data") or {}).get("dataset")
    if not isinstance(reference, str) or not reference.startswith(_PREFIX):
        return None
    return reference[len(_PREFIX) :]


@contextmanager
def dataset_linked(
    api: ServiceAPI,
    claim: ClaimedJob,
    cache: DatasetCache,
    directory: Path,
    on_download: Callable[[], None],
    pause: Callable[[float], bool],
) -> Iterator[None]:
    """Link the data set of the job into the attempt's directory while the context lasts.

    `pause` sleeps between two tries, and returns True to end them.
    Raises DatasetNotDownloaded, StaleToken when the attempt is superseded, and OSError for a fault
    of this machine.
    """
    sha256 = digest_in(claim.spec)
    if sha256 is None:
        yield
        return
    kind = str(claim.spec["data"]["kind"])

    def fill(folder: Path) -> None:
        on_download()
        try:
            _fill(api, claim, folder, kind, sha256, pause)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            cache.shrink(0)  # all that no attempt uses
            shutil.rmtree(folder)  # an unpacked part of it
            folder.mkdir(mode=0o700)
            _fill(api, claim, folder, kind, sha256, pause)

    with ExitStack() as stack:
        try:
            folder = stack.enter_context(cache.use(sha256, fill, pause))
        except StaleToken:
            raise
        except IPUlseError as error:
            if claim.lease.is_lost:
                raise
            raise DatasetNotDownloaded(
                f"the data set sha256:{sha256[:12]} cannot be downloaded: {error.message}"
            ) from error
        (directory / UPLOADED_FOLDER).symlink_to(folder)
        yield


def _fill(
    api: ServiceAPI,
    claim: ClaimedJob,
    folder: Path,
    kind: str,
    sha256: str,
    pause: Callable[[float], bool],
) -> None:
    """Download and verify a file; the data set is the file itself, or unpacked from it."""
    path = folder / "download"
    with errors_name(path), path.open("w+b") as file:
        retry_transfer(
            lambda: api.download_dataset(claim.lease, file, _stop_if_lost(claim)),
            pause,
            claim.lease,
        )
        file.seek(0)
        found = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        is_hdf5 = file.read(len(SIGNATURE)) == SIGNATURE
    if found != sha256:
        raise RemoteError(f"its content has the digest {found}")
    if kind == NPZ:
        path.rename(folder / f"{UPLOADED_NAME}.npz")
    elif kind == "events":
        path.rename(folder / f"{UPLOADED_NAME}.{'h5' if is_hdf5 else 'csv'}")
    else:
        try:
            unpack(path, folder)
        except DataInvalid as error:
            raise RemoteError(error.message.replace(str(path), "the file")) from error
        path.unlink()


def _stop_if_lost(claim: ClaimedJob) -> Callable[[], None]:
    def check() -> None:
        if claim.lease.is_lost:
            raise StaleToken()

    return check
