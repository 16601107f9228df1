"""Checks the content of a data set in a process of its own, which limits itself."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from ipulse_service.datasets.facts import DatasetCheck
from ipulse_service.reading import process
from ipulse_service.reading.isolation import Isolation
from ipulse_service.reading.process import ReadingEnd

SECONDS = 600.0  # of one check; its processor time is limited by itself
_MODULE = "ipulse_core.data_files.check"
_UNPACKED = "contents"  # the folder in which the process unpacks archives
_UNPACKED_BYTES = 2**34  # of an archive
_DISK_SHARE = 2  # an archive may fill this part of what is free


def check(
    isolation: Isolation, path: Path, scratch: Path, must_stop: Callable[[], bool]
) -> DatasetCheck:
    """Returns what the process says of a file.

    Args:
        isolation: The sandbox, if there is one.
        path: The file.
        scratch: A directory for what archives unpack to.
        must_stop: Called often; the check ends when it returns True.

    Raises:
        ReadingStopped: `must_stop` returned True.
        NoSandbox: A sandbox is required, and there is none.
        OSError: The process cannot be started.
    """
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="check-", dir=scratch) as folder:
        Path(folder, _UNPACKED).mkdir()
        Path(folder, _UNPACKED).chmod(0o777)  # the process may have another user id
        room = min(_UNPACKED_BYTES, shutil.disk_usage(folder).free // _DISK_SHARE)
        arguments: list[str | Path] = [path, _UNPACKED, str(room)]
        return _result(process.run(isolation, _MODULE, arguments, Path(folder), SECONDS, must_stop))


def _result(ended: ReadingEnd) -> DatasetCheck:
    if ended.took_too_long:
        return DatasetCheck(refusal="the check took too long; divide the data, or write it as npz")
    if ended.was_late:
        return DatasetCheck(trouble=f"the check did not end within {SECONDS:g} s")
    if ended.was_killed:
        return DatasetCheck(trouble="the check was killed")
    if ended.has_failed:
        return DatasetCheck(
            refusal=f"the file made the check fail (status {ended.status}): it is damaged, or "
            "written in a way that is not known"
        )
    try:
        return DatasetCheck.model_validate_json(ended.output)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        return DatasetCheck(refusal=f"the file has impossible values: {place}: {problem['msg']}")
