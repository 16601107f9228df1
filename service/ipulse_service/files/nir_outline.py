"""Lists the nodes of a NIR file in a process of its own, because a worker has written it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from ipulse_core.errors import InvalidInput, Problem, Unavailable
from ipulse_service.datasets.checking import environment

MAX_BYTES = 64 * 2**20
SECONDS = 60.0
WAIT_SECONDS = 2.0  # for others; a request that waits holds one of a few threads

_AT_ONCE = threading.BoundedSemaphore(2)  # of a replica; each takes a core for a moment


class UnreadableNetwork(InvalidInput):
    """The file is not a NIR graph that can be shown."""

    code = "unreadable_network"


def outline(path: Path) -> dict[str, Any]:
    """Returns the nodes and edges of a NIR file.

    Raises:
        UnreadableNetwork: It is none, or is damaged.
        Unavailable: It takes too long, or others are listed now.
    """
    command = [sys.executable, "-I", "-m", "ipulse_core.data_files.nir_outline", str(path)]
    if not _AT_ONCE.acquire(timeout=WAIT_SECONDS):
        raise Unavailable("other network files are listed now; try again, or download the file")
    try:
        process = subprocess.run(  # noqa: S603 - our own module
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment(),
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable("listing the nodes takes too long; download the file") from error
    finally:
        _AT_ONCE.release()
    if process.returncode:
        raise unreadable("the file is damaged, or written in a way that is not known")
    result: dict[str, Any] = json.loads(process.stdout)
    if "refusal" in result:
        raise unreadable(result["refusal"])
    return result


def unreadable(detail: str) -> UnreadableNetwork:
    """Returns the error of a file that cannot be shown."""
    return UnreadableNetwork([Problem("/path/artifact_id", "unreadable_network", detail)])
