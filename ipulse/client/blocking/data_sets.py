"""The methods of the synchronous client about data sets."""

from __future__ import annotations

from typing import Any

from ipulse.client.client_base import ClientBase
from ipulse.client.datasets.data_sets import OnFolder
from ipulse.client.datasets.resources import DatasetVersion, PushedOp
from ipulse.client.datasets.uploads import UploadProgress
from ipulse.client.location import PathLike
from ipulse.client.transport.transports import finished


class BlockingDataSets:
    """Uploads data sets, lists and deletes them."""

    _calls: ClientBase

    def push_dataset(
        self, path: PathLike, name: str, on_progress: UploadProgress | None = None
    ) -> DatasetVersion:
        """Upload a file as the next version of a data set and wait until it is checked.

        After a cut it continues where it was, also in another run of the program. Bytes that the
        service has are not sent again, and the same content twice is one version. `on_progress` is
        called with the bytes that were sent and the size. The version that is returned is `ready`
        or `refused`.
        """
        return finished(self._calls.push_dataset(path, name, on_progress))

    def push_program(
        self, folder: PathLike, follow_outside: bool = False, on_folder: OnFolder | None = None
    ) -> str:
        """Upload the source package of a folder, and return `sha256:` and its digest.

        Equal folders have equal digests. It is kept for a day, and as long as a job uses it.
        Symbolic links that leave the folder are refused, unless `follow_outside` is true.
        `on_folder` is called with the links that were followed and the names that are left out:
        hidden ones, `build` and `__pycache__`. Raises NotPermitted unless the token
        may submit code, and InvalidInput for a folder that cannot be a package.
        """
        return finished(self._calls.push_program(folder, follow_outside, on_folder))

    def push_op(
        self, folder: PathLike, follow_outside: bool = False, on_folder: OnFolder | None = None
    ) -> PushedOp:
        """Upload the source package of a custom op, which a spec names as `network.layers[].op`.

        Equal folders are one op; links and files that are left out are as in `push_program`.
        Raises NotPermitted unless the token may submit code, and InvalidInput for a folder that
        cannot be a package, or a wrong op.json.
        """
        return finished(self._calls.push_op(folder, follow_outside, on_folder))

    def ops(self) -> list[PushedOp]:
        """Return all custom ops that were pushed, newest first."""
        return finished(self._calls.ops())

    def delete_op(self, reference: str) -> None:
        """Delete a custom op, `NAME@sha256:DIGEST`; jobs that use it keep its package.

        Raises NotFound, and NotPermitted unless the token may submit code.
        """
        finished(self._calls.delete_op(reference))

    def upload_weights(self, path: PathLike, on_progress: UploadProgress | None = None) -> str:
        """Upload an npz file of initial weights and return its SHA-256.

        A spec names it as network.initial.upload. The service keeps the file for a day, and as
        long as a job uses it.
        """
        return finished(self._calls.upload_weights(path, on_progress))

    def datasets(self) -> list[DatasetVersion]:
        """Return the latest version of every data set, newest data sets first."""
        return finished(self._calls.datasets())

    def dataset_versions(self, name: str) -> list[DatasetVersion]:
        """Return all versions of a data set, newest first. Raises NotFound."""
        return finished(self._calls.dataset_versions(name))

    def dataset(self, reference: str) -> DatasetVersion:
        """Return a version by `NAME@VERSION`, or the latest by `NAME`. Raises NotFound."""
        return finished(self._calls.dataset(reference))

    def dataset_sample(self, reference: str, sample: int) -> dict[str, Any]:
        """Return the events of one of a version's `previews`. Raises NotFound."""
        return finished(self._calls.dataset_sample(reference, sample))

    def delete_dataset(self, reference: str) -> None:
        """Delete a version by `NAME@VERSION`, or all of them by `NAME`.

        Raises Conflict while a job that has not ended needs it, and NotFound.
        """
        finished(self._calls.delete_dataset(reference))
