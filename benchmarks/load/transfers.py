"""Files: their downloads, their uploads, and what these cost the service in memory."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import httpx

from benchmarks.load.clients import percentiles
from benchmarks.load.side import Call

SEED = 20
DOWNLOADS = 5
UPLOADS = 3


def uploads(side: Any, directory: Path, mebibytes: int) -> dict[str, Any]:
    """MiB a second from the begin of a file's upload until it is kept; the median of a few files,
    none of which is there already."""
    before = side.resident()
    speeds = []
    for number in range(UPLOADS):
        path = _file(directory, mebibytes, number)
        with side.uploading(path) as send:
            began = time.perf_counter()
            send()
            speeds.append(mebibytes / (time.perf_counter() - began))
        path.unlink()
    return _figures(side, mebibytes, speeds, before)


def downloads(side: Any, directory: Path, mebibytes: int) -> dict[str, Any]:
    """MiB a second of a file's downloads, and by how much the service's peak memory grew."""
    path = _file(directory, mebibytes)
    call: Call = side.keep_file(path)
    before = side.resident()
    speeds = []
    with httpx.Client(base_url=side.url, headers=side.headers(), timeout=120.0) as http:
        for _ in range(DOWNLOADS):
            began, size = time.perf_counter(), 0
            with http.stream(call.method, call.path) as response:
                assert response.status_code == httpx.codes.OK
                for piece in response.iter_raw(2**20):
                    size += len(piece)
            assert size == mebibytes * 2**20
            speeds.append(mebibytes / (time.perf_counter() - began))
    path.unlink()
    return _figures(side, mebibytes, speeds, before)


def _file(directory: Path, mebibytes: int, number: int = 0) -> Path:
    """Each number's has other content. It is on the disk, so that nobody's sync waits for it."""
    path = directory / "file"
    chunk = random.Random(SEED + number).randbytes(2**20)
    with path.open("wb") as file:
        for _ in range(mebibytes):
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return path


def _figures(side: Any, mebibytes: int, speeds: list[float], before: int) -> dict[str, Any]:
    return {
        "mebibytes": mebibytes,
        "mib_per_second": percentiles(speeds)["p50"],
        "grown_mib": (side.resident() - before) / 2**20,
    }
