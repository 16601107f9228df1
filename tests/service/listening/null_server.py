"""A server that answers every request at once, with the service's own HTTP protocol.

`python -m tests.service.listening.null_server FD` listens at an inherited socket.
"""

from __future__ import annotations

import socket
import sys

import uvicorn
from starlette.types import Receive, Scope, Send

from ipulse_service.http.server.uvicorn_protocol import SlowClientProtocol

BODY = b"x" * 300  # as long as a problem document


async def answer(scope: Scope, _receive: Receive, send: Send) -> None:
    """Answers a request."""
    length = (b"content-length", str(len(BODY)).encode())
    await send({"type": "http.response.start", "status": 429, "headers": [length]})
    await send({"type": "http.response.body", "body": BODY})


if __name__ == "__main__":
    config = uvicorn.Config(
        answer, http=SlowClientProtocol, ws="none", lifespan="off", log_config=None
    )
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
