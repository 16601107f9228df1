"""Checks the content of a data set in a process of its own, which limits itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from ipulse_service.datasets.facts import DatasetCheck

SECONDS = 600.0  # of one check; its processor time is limited by itself
MAX_OUTPUT_BYTES = 16 * 2**20
POLL_SECONDS = 0.05
_UNPACKED_BYTES = 2**34  # of an archive
_DISK_SHARE = 2  # an archive may fill this part of what is free


class CheckStopped(Exception):
    """The check was to be given up."""


def check(path: Path, scratch: Path, must_stop: Callable[[], bool]) -> DatasetCheck:
    """Returns what the process says of a file.

    Args:
        path: The file.
        scratch: A directory for what archives unpack to.
        must_stop: Called often; the check ends when it returns True.

    Raises:
        CheckStopped: `must_stop` returned True.
        OSError: The process cannot be started.
    """
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="check-", dir=scratch) as folder:
        unpacked = Path(folder, "data")
        unpacked.mkdir()
        room = min(_UNPACKED_BYTES, shutil.disk_usage(folder).free // _DISK_SHARE)
        with (
            Path(folder, "stdout").open("w+b") as output,
            Path(folder, "stderr").open("w+b") as log,
        ):
            process = subprocess.Popen(  # noqa: S603 - our own module
                [
                    *(sys.executable, "-I", "-m", "ipulse_core.data_files.check"),
                    *(str(path), str(unpacked), str(room)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=log,
                cwd=unpacked,
                env=environment(),
                start_new_session=True,
            )
            status = _wait(process, must_stop)
            output.seek(0)
            return _result(status, output.read(MAX_OUTPUT_BYTES + 1))


def environment() -> dict[str, str]:
    """Returns the variables of the process: no secret of the service is among them."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "OPENBLAS_NUM_THREADS": "1",  # each of its threads takes addresses
        "OMP_NUM_THREADS": "1",
        "HDF5_PLUGIN_PATH": os.devnull,
        "HDF5_USE_FILE_LOCKING": "FALSE",
    }


def _wait(process: subprocess.Popen[bytes], must_stop: Callable[[], bool]) -> int | None:
    """Returns the exit status, or None if it took too long."""
    deadline = time.monotonic() + SECONDS
    try:
        while time.monotonic() < deadline:
            try:
                return process.wait(POLL_SECONDS)
            except subprocess.TimeoutExpired:
                if must_stop():
                    raise CheckStopped from None
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _result(status: int | None, output: bytes) -> DatasetCheck:
    if status is None or status == -signal.SIGXCPU:
        return DatasetCheck(refusal="the check took too long; divide the data, or write it as npz")
    if status == -signal.SIGKILL:
        return DatasetCheck(trouble="the check was killed")
    if status != 0 or len(output) > MAX_OUTPUT_BYTES:
        return DatasetCheck(
            refusal=f"the file made the check fail (status {status}): it is damaged, or written "
            "in a way that is not known"
        )
    try:
        return DatasetCheck.model_validate_json(output)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        return DatasetCheck(refusal=f"the file has impossible values: {place}: {problem['msg']}")
