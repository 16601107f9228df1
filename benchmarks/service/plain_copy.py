"""A server that writes the body of each PATCH request to a file, and deletes it.

python -m benchmarks.service.plain_copy PORT FILE
"""

from __future__ import annotations

import os
import sys
from typing import Any

import uvicorn

from ipulse_service.http.server.uvicorn_protocol import SlowClientProtocol


def main() -> None:
    """Serve until a signal."""
    port, path = int(sys.argv[1]), sys.argv[2]

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        has_more = scope["method"] == "PATCH"
        with open(path, "wb", buffering=2**20) as file:
            while has_more:
                message = await receive()
                file.write(message.get("body", b""))
                has_more = message.get("more_body", False)
            file.flush()
            os.fsync(file.fileno())
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        os.unlink(path)  # as the service's copy is deleted: its pages are free again

    uvicorn.run(app, port=port, http=SlowClientProtocol, ws="none", lifespan="off", log_config=None)


if __name__ == "__main__":
    main()
