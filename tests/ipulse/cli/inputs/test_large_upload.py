"""A data set of 1 GB is uploaded once, whatever happens to the connection and the program."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from tests.ipulse.cli.conftest import environment
from tests.ipulse.live_service import LiveService
from tests.proxy import Proxy

SAMPLES, STEPS, CHANNELS = 1000, 500, 2000  # a byte each
SECONDS = 240  # for one command


class CountingProxy(Proxy):
    """Counts the bytes of requests; kills a program after so many."""

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port))
        self.sent = 0
        self.most = sys.maxsize
        self.victim: subprocess.Popen[str] | None = None

    def _ask(self, server: socket.socket, data: bytes) -> None:
        super()._ask(server, data)
        self.sent += len(data)
        if self.sent > self.most and self.victim is not None:
            self.victim.kill()


@pytest.mark.verify
def test_1_gb_resumes_after_a_cut(service: LiveService, tmp_path: Path) -> None:
    """The program is killed at 60 % and called again; a third call moves nothing."""
    random = np.random.default_rng(11)
    labels = np.arange(SAMPLES) % 2
    block = (random.random((STEPS, CHANNELS)) < 0.02).astype(np.uint8)
    spikes = np.broadcast_to(block, (SAMPLES, STEPS, CHANNELS)).copy()
    spikes[:, 0, 0] = labels
    path = tmp_path / "gigabyte.npz"  # a name of its own: the service is shared
    np.savez(path, spikes=spikes, labels=labels)
    del spikes
    size = path.stat().st_size
    assert size > 1_000_000_000
    with CountingProxy(urlsplit(service.url).port or 0) as proxy:
        command = [sys.executable, "-m", "ipulse", "data", "push", str(path), "--url", proxy.url]
        env = environment(IPULSE_TOKEN=service.token)

        def push(most: int) -> tuple[int, str, int]:
            """The exit code, what was printed, and the bytes that were sent."""
            proxy.sent, proxy.most = 0, most
            pipe = subprocess.PIPE
            with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env) as process:
                proxy.victim = process
                out, err = process.communicate(timeout=SECONDS)
            return process.returncode, out + err, proxy.sent

        code, _, first = push(size * 6 // 10)
        assert code < 0
        code, shown, rest = push(sys.maxsize)
        assert code == 0, shown
        assert shown.startswith("gigabyte@1 ")
        # A part of what was sent before the kill may have been lost on its way.
        assert first + rest < 1.1 * size
        assert rest < 0.5 * size
        code, shown, again = push(sys.maxsize)
        assert (code, shown.startswith("gigabyte@1 ")) == (0, True)
        assert again < 100_000
