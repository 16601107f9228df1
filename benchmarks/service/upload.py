"""Compare the upload of a data set with a plain copy of its bytes to the same HTTP server.

    python -m benchmarks.service upload --megabytes 1000

Each round sends new bytes to both; every other round begins with the service. Both are uvicorn
with the service's protocol class, get the same request from the same client, write to the same
disk, and answer once the bytes are synced there. Beyond that the service knows its caller and the
upload, hashes the bytes, compares the digest, moves the file to its place and commits the upload.
`cpu seconds` are those of the server.

A virtual machine gets memory from its host when it is first written, which takes longer than all
else here. So before each request as many bytes are written to a file that is deleted: both servers
then write to memory that the machine has.
"""

from __future__ import annotations

import io
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from benchmarks.service.systems.ipulse import IpulseSystem
from benchmarks.service.systems.system import await_answer, free_port
from ipulse.outgoing_file import OutgoingFile

MEGABYTE = 10**6


class Target:
    """A server and the requests that send a file to it."""

    def __init__(self, name: str, url: str, pid: int, headers: dict[str, str]) -> None:
        self.name = name
        self.seconds: list[float] = []
        self.cpu_seconds: list[float] = []
        self._http = httpx.Client(base_url=url, headers=headers, timeout=600)
        self._process = psutil.Process(pid)

    def send(self, file: OutgoingFile) -> None:
        """Send a file and note how long that took."""
        path = self._announced(file)
        before, began = sum(self._process.cpu_times()[:2]), time.perf_counter()
        headers = {"upload-offset": "0", "content-length": str(file.size)}
        self._http.patch(path, content=file.body(0), headers=headers).raise_for_status()
        self.seconds.append(time.perf_counter() - began)
        self.cpu_seconds.append(sum(self._process.cpu_times()[:2]) - before)
        if path != "/":
            self._http.delete(path).raise_for_status()

    def row(self, megabytes: int, plain: Target) -> Row:
        """Return the median of the rounds, and the rate relative to the plain copy."""
        median = statistics.median(self.seconds)
        relative = statistics.median(
            mine and theirs / mine for mine, theirs in zip(self.seconds, plain.seconds, strict=True)
        )
        return {
            "target": self.name,
            "MB": megabytes,
            "seconds": median,
            "MB/s": megabytes / median,
            "cpu seconds": statistics.median(self.cpu_seconds),
            "rate relative to the plain copy": relative,
        }

    def _announced(self, file: OutgoingFile) -> str:
        if self.name == "plain copy":
            return "/"
        body = {"size": file.size, "sha256": file.sha256}
        return str(self._http.post("/v1/uploads", json=body).raise_for_status().headers["location"])


def contents(megabytes: int, rounds: int) -> Iterator[OutgoingFile]:
    """Yield files of random bytes, in memory, with their digests."""
    block = os.urandom(megabytes * MEGABYTE)
    for number in range(rounds):
        block = number.to_bytes(8, "big") + block[8:]
        yield OutgoingFile(io.BytesIO(block), len(block))


def touch_memory(path: Path, file: OutgoingFile) -> None:
    """Let the machine have free memory for a copy of a file."""
    with path.open("wb", buffering=0) as copy:
        for chunk in file.body(0):
            copy.write(chunk)
    path.unlink()


def measure(home: Path, megabytes: int, rounds: int) -> list[Row]:
    """Return a row for each target."""
    with IpulseSystem(home) as system:
        port = free_port()
        command = ["benchmarks.service.plain_copy", str(port), str(home / "plain")]
        system.run("plain", command, {})
        url = f"http://127.0.0.1:{port}"
        await_answer(url, "the plain copy")
        plain = Target("plain copy", url, system.pid("plain"), {})
        service = Target("service", system.url, system.pid("service"), system.headers())
        order = [plain, service]
        for file in contents(megabytes, rounds):
            for target in order:
                touch_memory(home / "touched", file)
                target.send(file)
            order.reverse()  # the first of a round may pay for what the last one left to the disk
    return [target.row(megabytes, plain) for target in (plain, service)]


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("service upload", __doc__)
    parser.add_argument("--megabytes", type=int, default=1000, help="of a file (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "home"
        rows = measure(home, options.megabytes, options.rounds)
    finish(rows, options.output)
