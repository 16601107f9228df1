"""A body arrives complete in parts of any size, and the next request follows it."""

from __future__ import annotations

import hashlib
import random
import re
import socket
from contextlib import closing

import pytest

from ipulse_core import messages
from tests.service.running import InProcess

CONTENT = random.Random(20).randbytes(3_000_001)


@pytest.mark.parametrize("at_once", [1_000, 65_537, 2**20, 2 * len(CONTENT)])
def test_a_large_body_and_the_request_behind_it(service: InProcess, at_once: int) -> None:
    attempt = service.attempt(service.submit()["id"])
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    upload = (
        f"PUT {attempt.path}/artifacts/a.bin?role=weights&size={len(CONTENT)}&sha256={sha256} "
        f"HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: {service.worker.headers['authorization']}\r\n"
        f"{messages.PROTOCOL_HEADER}: {messages.PROTOCOL}\r\n"
        f"IPUlse-Fence: {attempt.fence}\r\nContent-Length: {len(CONTENT)}\r\n\r\n"
    )
    last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    sent = upload.encode() + CONTENT + last
    address = (service.user.base_url.host, service.user.base_url.port or 0)
    with closing(socket.create_connection(address, timeout=30)) as connection:
        for begin in range(0, len(sent), at_once):
            connection.sendall(sent[begin : begin + at_once])
        answers = b""
        while chunk := connection.recv(65536):
            answers += chunk
    assert re.findall(rb"HTTP/1\.1 (\d+)", answers) == [b"201", b"200"]
    assert sha256.encode() in answers
